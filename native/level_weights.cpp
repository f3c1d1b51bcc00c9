#include "level_weights.hpp"

#include <cmath>
#include <stdexcept>

#include "dense_weights.hpp"

namespace polyseme {

RecordShape shape_of(const RecordForm& form, RecordKind kind, uint32_t n_rows) {
    RecordShape shape{kind, n_rows, 1, 0, 0};
    if (kind == long_list) shape.clusters_at += 4;
    shape.starts_at = shape.clusters_at + (shape.is_bitmap() ? form.n_bitmap : n_rows * form.number_bytes);
    shape.rows_at = shape.starts_at + (n_rows + 1) * shape.start_bytes();
    return shape;
}

namespace {

template <class T>
void append(std::vector<uint8_t>& bytes, T value) {
    const size_t at = bytes.size();
    bytes.resize(at + sizeof(T));
    std::memcpy(bytes.data() + at, &value, sizeof(T));
}

void write_number(uint8_t* at, uint32_t value, uint32_t n_bytes) {
    std::memcpy(at, &value, n_bytes);  // the low bytes come first on every machine we build for
}

std::vector<float> slot_scales(const TrainedCluster& cluster) {
    std::vector<float> scales(cluster.bias.size(), 0);
    for (size_t e = 0; e < cluster.weights.size(); ++e) {
        float& largest = scales[cluster.columns[e]];
        largest = std::max(largest, std::fabs(cluster.weights[e]));
    }
    const size_t n_dense = scales.empty() ? 0 : cluster.dense.size() / scales.size();
    for (size_t slot = 0; slot < scales.size(); ++slot)
        for (size_t column = 0; column < n_dense; ++column)
            scales[slot] = std::max(scales[slot], std::fabs(cluster.dense[slot * n_dense + column]));
    for (float& scale : scales) scale /= 127;
    return scales;
}

// A weight that was kept does not vanish.
int8_t to_byte(float weight, float scale) {
    const float steps = std::clamp(std::nearbyint(weight / scale), -127.f, 127.f);
    return static_cast<int8_t>(steps != 0 ? steps : weight < 0 ? -1 : 1);
}

// Among dense weights a zero takes the same place as any other.
int8_t to_byte_or_zero(float weight, float scale) {
    return scale > 0 ? static_cast<int8_t>(std::clamp(std::nearbyint(weight / scale), -127.f, 127.f))
                     : int8_t{0};
}

std::vector<uint8_t> pack_dense(const TrainedCluster& cluster, const std::vector<float>& scales) {
    const size_t n_slots = cluster.bias.size();
    if (cluster.dense.empty()) return {};
    const DenseForm form{static_cast<int64_t>(cluster.dense.size() / n_slots), !scales.empty()};
    std::vector<uint8_t> bytes(form.cluster_bytes(static_cast<int64_t>(n_slots)), 0);
    const float* weight = cluster.dense.data();
    for (size_t slot = 0; slot < n_slots; ++slot) {
        for (int64_t column = 0; column < form.n_columns; ++column, ++weight) {
            uint8_t* const at = bytes.data() + form.place(static_cast<int64_t>(slot), column);
            const int8_t step = form.byte_weights ? to_byte_or_zero(*weight, scales[slot]) : int8_t{0};
            if (form.byte_weights) std::memcpy(at, &step, 1);
            else std::memcpy(at, weight, 4);
        }
    }
    return bytes;
}

template <class T>
void append_and_free(std::vector<T>& all, std::vector<T>& part) {
    all.insert(all.end(), part.begin(), part.end());
    std::vector<T>().swap(part);
}

}  // namespace

RecordKind RecordWriter::choose_kind(const RowTotals& rows) const {
    const bool is_short = rows.n_bytes <= UINT16_MAX;
    // A bitmap is found through faster than a list, which is worth some bytes.
    const uint64_t list_bytes = uint64_t{rows.n_rows} * form_.number_bytes;
    if (form_.n_bitmap <= list_bytes + list_bytes / 2) return is_short ? bitmap_short : bitmap_long;
    return is_short && rows.n_rows <= longest_short_list ? static_cast<RecordKind>(rows.n_rows) : long_list;
}

void RecordWriter::announce_row(int64_t feature, uint32_t size) {
    RowTotals& total = totals_[feature];
    if (total.n_bytes > UINT32_MAX - size) throw std::length_error("a feature has too many weights");
    ++total.n_rows;
    total.n_bytes += size;
}

// Makes room for the rows that were announced.
void RecordWriter::begin() {
    const size_t n_features = totals_.size();
    shapes_.resize(form_.n_clusters > 1 ? n_features : 0);
    starts_.assign(n_features + 1, 0);
    level_.record_sizes.resize(n_features);
    for (size_t f = 0; f < n_features; ++f) {
        level_.record_sizes[f] = totals_[f].n_bytes;
        if (form_.n_clusters > 1 && totals_[f].n_rows > 0) {
            shapes_[f] = shape_of(form_, choose_kind(totals_[f]), totals_[f].n_rows);
            level_.record_sizes[f] += shapes_[f].rows_at;
        }
        starts_[f + 1] = starts_[f] + level_.record_sizes[f];
    }
    level_.bytes.assign(starts_[n_features] + read_ahead, 0);
    for (size_t f = 0; f < shapes_.size(); ++f) {
        if (totals_[f].n_rows == 0) continue;
        record(f)[0] = shapes_[f].kind;
        if (shapes_[f].kind == long_list) write_number(record(f) + 1, totals_[f].n_rows, 4);
        totals_[f] = {};
    }
}

void RecordWriter::write_row(uint32_t cluster, int64_t f, const uint8_t* row, uint32_t size) {
    if (form_.n_clusters == 1) {
        std::memcpy(record(f), row, size);
        return;
    }
    const RecordShape& shape = shapes_[f];
    RowTotals& written = totals_[f];
    uint8_t* const clusters = record(f) + shape.clusters_at;
    if (shape.is_bitmap()) clusters[cluster / 8] |= static_cast<uint8_t>(1u << (cluster % 8));
    else write_number(clusters + written.n_rows * form_.number_bytes, cluster, form_.number_bytes);
    std::memcpy(record(f) + shape.rows_at + written.n_bytes, row, size);
    written.n_bytes += size;
    ++written.n_rows;
    write_number(record(f) + shape.starts_at + written.n_rows * shape.start_bytes(), written.n_bytes,
                 shape.start_bytes());
}

// Numbers the rows before each word of the bitmaps.
void RecordWriter::finish() {
    if (form_.n_words <= 1) return;
    for (size_t f = 0; f < shapes_.size(); ++f) {
        if (totals_[f].n_rows == 0 || !shapes_[f].is_bitmap()) continue;
        uint8_t* const bitmap = record(f) + shapes_[f].clusters_at;
        uint32_t n_before = 0;
        for (uint32_t word = 0; word < form_.n_words; ++word) {
            write_number(bitmap + form_.n_words * 8 + word * form_.number_bytes, n_before,
                         form_.number_bytes);
            n_before += static_cast<uint32_t>(std::popcount(read_as<uint64_t>(bitmap + word * 8)));
        }
    }
}

PackedCluster pack_cluster(const TrainedCluster& cluster, bool byte_weights) {
    PackedCluster packed;
    packed.features = cluster.features;
    packed.bias = cluster.bias;
    if (byte_weights) packed.scales = slot_scales(cluster);
    const RowForm form(static_cast<int64_t>(cluster.bias.size()), byte_weights);
    packed.sizes.reserve(cluster.features.size());
    size_t n_bytes = 0;
    for (const uint32_t count : cluster.counts) n_bytes += form.size(count);
    packed.bytes.reserve(n_bytes);

    size_t entry = 0;
    for (const uint32_t count : cluster.counts) {
        const uint32_t size = form.size(count);
        packed.sizes.push_back(size);
        const uint16_t* const columns = cluster.columns.data() + entry;
        if (size < form.lists_below()) {
            for (uint32_t e = 0; e < count; ++e) {
                if (form.column_bytes == 1) packed.bytes.push_back(static_cast<uint8_t>(columns[e]));
                else append(packed.bytes, columns[e]);
            }
        } else {
            const size_t at = packed.bytes.size();
            packed.bytes.resize(at + form.n_bitmap, 0);
            for (uint32_t e = 0; e < count; ++e)
                packed.bytes[at + columns[e] / 8] |= static_cast<uint8_t>(1u << (columns[e] % 8));
        }
        for (uint32_t e = 0; e < count; ++e) {
            const float weight = cluster.weights[entry + e];
            if (byte_weights) append(packed.bytes, to_byte(weight, packed.scales[columns[e]]));
            else append(packed.bytes, weight);
        }
        entry += count;
    }
    packed.dense = pack_dense(cluster, packed.scales);
    return packed;
}

LevelWeights join_clusters(std::vector<PackedCluster>& clusters, int64_t n_features) {
    LevelWeights level;
    RecordWriter writer(static_cast<int64_t>(clusters.size()), n_features, level);
    for (const auto& cluster : clusters)
        for (size_t r = 0; r < cluster.features.size(); ++r)
            writer.announce_row(cluster.features[r], cluster.sizes[r]);
    writer.begin();
    for (size_t c = 0; c < clusters.size(); ++c) {
        PackedCluster cluster = std::move(clusters[c]);
        const uint8_t* row = cluster.bytes.data();
        for (size_t r = 0; r < cluster.features.size(); ++r) {
            writer.write_row(static_cast<uint32_t>(c), cluster.features[r], row, cluster.sizes[r]);
            row += cluster.sizes[r];
        }
        append_and_free(level.scales, cluster.scales);
        append_and_free(level.bias, cluster.bias);
        append_and_free(level.dense, cluster.dense);
    }
    writer.finish();
    return level;
}

}  // namespace polyseme
