#include "linear_level.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "record_search.hpp"
#include "simd.hpp"

namespace polyseme {

namespace {

void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

uint32_t read_number(const uint8_t* at, uint32_t n_bytes) {
    return n_bytes == 2 ? read_as<uint16_t>(at) : read_as<uint32_t>(at);
}

}  // namespace

namespace clones {

POLYSEME_CLONES(void, finish,
                (const float* scales, const float* bias, int64_t n_slots, float cluster_score,
                 Activation activation, float* scores),
                (scales, bias, n_slots, cluster_score, activation, scores)) {
    if (scales == nullptr) {
        for (int64_t j = 0; j < n_slots; ++j) scores[j] += bias[j];
    } else {
        for (int64_t j = 0; j < n_slots; ++j) scores[j] = scores[j] * scales[j] + bias[j];
    }
    activate(scores, n_slots, cluster_score, activation);
}

}  // namespace clones

LinearLevel::LinearLevel(const LevelWeightsView& weights, bool is_trusted)
    : view_(weights), bytes_(weights.bytes), form_(weights.n_clusters), dense_(weights.dense) {
    add_short_ = (view_.scales ? row_adders<uint8_t, int8_t>() : row_adders<uint8_t, float>()).back();
    add_long_ = (view_.scales ? row_adders<uint16_t, int8_t>() : row_adders<uint16_t, float>()).back();
    long_starts_.assign(1, 0);
    for (int64_t f = 0; f < view_.n_sparse; ++f)
        long_starts_.push_back(long_starts_.back() + view_.record_sizes[f]);
    const int64_t n_bytes = long_starts_.back();
    require(n_bytes + read_ahead == static_cast<int64_t>(bytes_.size()),
            "the records do not fit their sizes");
    require(view_.n_clusters > 0 || n_bytes == 0, "there are weights, but no clusters");
    if (n_bytes <= UINT32_MAX) {
        short_starts_.assign(long_starts_.begin(), long_starts_.end());
        std::vector<int64_t>().swap(long_starts_);
    }
    for (int64_t f = 0; f < view_.n_sparse && !is_trusted; ++f)
        if (view_.record_sizes[f] > 0) check_record(f);
    set_up_dense(is_trusted);
}

void LinearLevel::set_up_dense(bool is_trusted) {
    require(view_.n_dense >= 0 && view_.n_dense <= int64_t{1} << 31, "there are too many dense columns");
    dense_form_ = {view_.n_dense, view_.scales != nullptr};
    if (view_.n_dense > 0) add_dense_ = dense_adders(dense_form_.byte_weights).back();
    int64_t n_groups = 0;
    for (int64_t c = 0; c < n_clusters(); ++c) n_groups += DenseForm::n_groups(size(c));
    // Divided and not multiplied: a product of what a file says might overflow.
    const auto n_bytes = static_cast<int64_t>(dense_.size()), each = dense_form_.group_bytes();
    require(each > 0 && n_groups > 0 ? n_bytes % each == 0 && n_bytes / each == n_groups : n_bytes == 0,
            "the dense weights do not fit the slots");
    dense_starts_.assign(1, 0);
    for (int64_t c = 0; c < n_clusters(); ++c)
        dense_starts_.push_back(dense_starts_.back() + dense_form_.cluster_bytes(size(c)));
    for (int64_t at = 0; at < n_bytes && !is_trusted && !dense_form_.byte_weights; at += 4) {
        const float weight = read_as<float>(dense_.data() + at);
        require(weight - weight == 0, "a weight is not finite");
    }
}

float LinearLevel::dense_weight(int64_t cluster, int64_t slot, int64_t column) const {
    const uint8_t* const at = dense_of(cluster).data() + dense_form_.place(slot, column);
    return dense_form_.byte_weights ? float(read_as<int8_t>(at)) : read_as<float>(at);
}

int64_t LinearLevel::n_weights() const {
    int64_t n = n_slots() * n_dense();
    for (int64_t f = 0; f < view_.n_sparse; ++f)
        for_each_row(f, [&](int64_t cluster, const uint8_t*, uint32_t size) {
            const RowForm form = row_form(cluster);
            const bool is_list = size < form.lists_below();
            n += is_list ? form.list_length(size) : (size - form.n_bitmap) / form.weight_bytes;
        });
    return n;
}

void LinearLevel::find(const Document& document, std::span<const int32_t> clusters, FoundRows& found) const {
    found.places.clear();
    found.dense = document.dense;
    if (clusters.empty()) return;
    const size_t n_each = document.features.size() + 1;  // a place is written to before it counts
    if (found.rows.size() < n_each * clusters.size()) found.rows.resize(n_each * clusters.size());
    if (static_cast<int64_t>(found.rank_of.size()) < n_clusters()) found.rank_of.resize(n_clusters(), -1);
    for (size_t rank = 0; rank < clusters.size(); ++rank) {
        FoundRow* const begin = found.rows.data() + rank * n_each;
        found.places.push_back(
            {begin, begin, begin + n_each, begin + n_each, row_form(clusters[rank]).lists_below()});
        found.rank_of[clusters[rank]] = static_cast<int32_t>(rank);
    }
    float least = 0, largest = 0;
    for (const float value : document.values) {
        least = std::min(least, value);
        largest = std::max(largest, value);
    }
    found.largest = least < 0 ? 0 : largest;
    const RecordSearch search{bytes_.data(), form_, clusters, found};
    if (long_starts_.empty()) search_records(search, short_starts_.data(), document);
    else search_records(search, long_starts_.data(), document);
    for (const int32_t cluster : clusters) found.rank_of[cluster] = -1;
}

void LinearLevel::score(int64_t cluster, const FoundRows& found, size_t rank, float cluster_score,
                        Activation activation, float* scores) const {
    const int64_t n = size(cluster);
    std::fill(scores, scores + padded(n), 0.f);
    const AddRows add_rows = has_short_columns(n) ? add_short_ : add_long_;
    add_rows(found.places[rank].lists(), found.places[rank].bitmaps(), n, found.largest, scores);
    if (add_dense_ != nullptr) add_dense_(dense_of(cluster).data(), dense_form_, n, *found.dense, scores);
    const int64_t first = first_slot(cluster);
    clones::finish(view_.scales ? view_.scales + first : nullptr, view_.bias + first, n, cluster_score,
                   activation, scores);
}

std::vector<std::pair<int32_t, float>> LinearLevel::slot_weights(int64_t cluster, int64_t slot) const {
    std::vector<int32_t> all(n_features());
    std::iota(all.begin(), all.end(), 0);
    return slot_weights(cluster, slot, all);
}

std::vector<std::pair<int32_t, float>> LinearLevel::slot_weights(int64_t cluster, int64_t slot,
                                                                 std::span<const int32_t> features) const {
    constexpr size_t together = 4096;  // so that memory can be asked for ahead
    const float scale = view_.scales ? view_.scales[first_slot(cluster) + slot] : 1.f;
    const std::vector<int32_t> clusters{static_cast<int32_t>(cluster)};
    std::vector<std::pair<int32_t, float>> weights;
    std::vector<int32_t> sparse;
    std::vector<float> places;  // of these features: their values, by which rows are known again
    FoundRows found;
    for (; !features.empty(); features = features.subspan(std::min(together, features.size()))) {
        const auto some = features.first(std::min(together, features.size()));
        std::vector<std::optional<float>> weight_at(some.size());
        sparse.clear();
        places.clear();
        for (size_t place = 0; place < some.size(); ++place) {
            if (some[place] < n_sparse()) {
                sparse.push_back(some[place]);
                places.push_back(static_cast<float>(place));
            } else if (const float weight = dense_weight(cluster, slot, some[place] - n_sparse());
                       weight != 0) {
                weight_at[place] = weight;
            }
        }
        find({sparse, places}, clusters, found);
        for (const auto rows : {found.places[0].lists(), found.places[0].bitmaps()})
            for (const FoundRow& row : rows)
                for_each_weight_of(cluster, row.bytes, row.size, [&](int64_t column, float weight) {
                    if (column == slot) weight_at[static_cast<size_t>(row.value)] = weight;
                });
        for (size_t place = 0; place < some.size(); ++place)
            if (weight_at[place]) weights.emplace_back(some[place], *weight_at[place] * scale);
    }
    return weights;
}

void LinearLevel::for_each_weight(int64_t feature, const std::function<void(int64_t, float)>& visit) const {
    if (feature >= n_sparse()) {
        for (int64_t cluster = 0; cluster < n_clusters(); ++cluster) {
            for (int64_t slot = first_slot(cluster); slot < first_slot(cluster + 1); ++slot) {
                const float weight = dense_weight(cluster, slot - first_slot(cluster), feature - n_sparse());
                if (weight != 0) visit(slot, view_.scales ? weight * view_.scales[slot] : weight);
            }
        }
        return;
    }
    for_each_row(feature, [&](int64_t cluster, const uint8_t* row, uint32_t size) {
        for_each_weight_of(cluster, row, size, [&](int64_t column, float weight) {
            const int64_t slot = first_slot(cluster) + column;
            visit(slot, view_.scales ? weight * view_.scales[slot] : weight);
        });
    });
}

RecordShape LinearLevel::shape(int64_t feature) const {
    const uint8_t* const record = bytes_.data() + record_start(feature);
    const auto kind = static_cast<RecordKind>(record[0]);
    uint32_t n_rows = kind;
    if (kind == long_list) n_rows = read_as<uint32_t>(record + 1);
    if (kind == bitmap_short || kind == bitmap_long) {
        n_rows = 0;
        for (int64_t byte = 0; byte < (form_.n_clusters + 7) / 8; ++byte)
            n_rows += static_cast<uint32_t>(std::popcount(record[1 + byte]));
    }
    return shape_of(form_, kind, n_rows);
}

// Calls visit(cluster, bytes of the row, their number) for each row of a feature.
template <class F>
void LinearLevel::for_each_row(int64_t feature, F&& visit) const {
    const uint8_t* const record = bytes_.data() + record_start(feature);
    if (view_.record_sizes[feature] == 0) return;
    if (form_.n_clusters == 1) return visit(int64_t{0}, record, view_.record_sizes[feature]);
    const RecordShape here = shape(feature);
    const uint8_t* const clusters = record + here.clusters_at;
    uint32_t row = 0;
    auto visit_next = [&](int64_t cluster) {
        const uint8_t* const starts = record + here.starts_at + row++ * here.start_bytes();
        const uint32_t begin = read_number(starts, here.start_bytes());
        const uint32_t end = read_number(starts + here.start_bytes(), here.start_bytes());
        visit(cluster, record + here.rows_at + begin, end - begin);
    };
    if (!here.is_bitmap()) {
        while (row < here.n_rows)
            visit_next(read_number(clusters + row * form_.number_bytes, form_.number_bytes));
        return;
    }
    for (int64_t cluster = 0; cluster < form_.n_clusters; ++cluster)
        if (clusters[cluster / 8] >> (cluster % 8) & 1) visit_next(cluster);
}

LevelWeights join_parts(std::span<const LinearLevel* const> parts, std::span<const int32_t> part_of_cluster) {
    const auto n_clusters = std::ssize(part_of_cluster);
    LevelWeights joined;
    // Where each cluster of a part goes, or -1.
    std::vector<std::vector<int64_t>> place_of(parts.size());
    for (size_t p = 0; p < parts.size(); ++p) place_of[p].assign(parts[p]->n_clusters(), -1);
    std::vector<int64_t> n_taken(parts.size(), 0);
    for (int64_t c = 0; c < n_clusters; ++c) {
        const int32_t p = part_of_cluster[c];
        const LinearLevel& part = *parts[p];
        const int64_t own = part.n_clusters() == n_clusters ? c : n_taken[p]++;
        place_of[p][own] = c;
        const int64_t begin = part.first_slot(own), end = part.first_slot(own + 1);
        joined.bias.insert(joined.bias.end(), part.view_.bias + begin, part.view_.bias + end);
        if (part.view_.scales)
            joined.scales.insert(joined.scales.end(), part.view_.scales + begin, part.view_.scales + end);
        const auto dense = part.dense_of(own);
        joined.dense.insert(joined.dense.end(), dense.begin(), dense.end());
    }

    const int64_t n_features = parts[0]->n_sparse();
    const auto for_each_taken_row = [&](int64_t f, auto&& visit) {
        for (size_t p = 0; p < parts.size(); ++p)
            parts[p]->for_each_row(f, [&](int64_t own, const uint8_t* row, uint32_t size) {
                if (place_of[p][own] >= 0) visit(place_of[p][own], row, size);
            });
    };
    RecordWriter writer(n_clusters, n_features, joined);
    for (int64_t f = 0; f < n_features; ++f)
        for_each_taken_row(f, [&](int64_t, const uint8_t*, uint32_t size) { writer.announce_row(f, size); });
    writer.begin();
    std::vector<std::tuple<int64_t, const uint8_t*, uint32_t>> rows;  // of a feature, by cluster
    for (int64_t f = 0; f < n_features; ++f) {
        rows.clear();
        for_each_taken_row(
            f, [&](int64_t c, const uint8_t* row, uint32_t size) { rows.emplace_back(c, row, size); });
        std::sort(rows.begin(), rows.end());
        for (const auto& [c, row, size] : rows) writer.write_row(static_cast<uint32_t>(c), f, row, size);
    }
    writer.finish();
    return joined;
}

// Calls visit(slot, weight) for each weight of a row.
template <class F>
void LinearLevel::for_each_weight_of(int64_t cluster, const uint8_t* row, uint32_t size, F&& visit) const {
    const RowForm form = row_form(cluster);
    auto weight_at = [&](const uint8_t* at) {
        return form.weight_bytes == 1 ? float(read_as<int8_t>(at)) : read_as<float>(at);
    };
    if (size < form.lists_below()) {
        const uint32_t n = form.list_length(size);
        for (uint32_t e = 0; e < n; ++e) {
            const uint8_t* const column = row + e * form.column_bytes;
            visit(int64_t{form.column_bytes == 1 ? *column : read_as<uint16_t>(column)},
                  weight_at(row + n * form.column_bytes + e * form.weight_bytes));
        }
        return;
    }
    const uint8_t* weight = row + form.n_bitmap;
    for (uint32_t g = 0; g < form.n_bitmap; ++g) {
        for (uint32_t bits = row[g]; bits != 0; bits &= bits - 1, weight += form.weight_bytes)
            visit(int64_t{8 * g + std::countr_zero(bits)}, weight_at(weight));
    }
}

void LinearLevel::check_record(int64_t feature) const {
    const uint64_t n_bytes = view_.record_sizes[feature];
    const uint8_t* const record = bytes_.data() + record_start(feature);
    if (form_.n_clusters > 1) {
        const bool known = record[0] > 0 && record[0] <= bitmap_long;
        const bool is_bitmap = record[0] >= bitmap_short;
        require(known && (!is_bitmap || form_.n_bitmap < n_bytes) && (record[0] != long_list || n_bytes > 5),
                "a record is of no known kind");
        const RecordShape here = shape(feature);
        require(here.n_rows > 0 && here.n_rows <= form_.n_clusters && here.rows_at < n_bytes,
                "a record does not fit its rows");
        const uint8_t* const starts = record + here.starts_at;
        uint32_t end = read_number(starts, here.start_bytes());
        require(end == 0, "a record does not fit its rows");
        for (uint32_t row = 1; row <= here.n_rows; ++row) {
            const uint32_t next = read_number(starts + row * here.start_bytes(), here.start_bytes());
            require(next > end, "the rows of a record are out of order");
            end = next;
        }
        require(here.rows_at + uint64_t{end} == n_bytes, "a record does not fit its rows");
        const uint8_t* const clusters = record + here.clusters_at;
        for (uint32_t row = 1; row < here.n_rows && !is_bitmap; ++row)
            require(read_number(clusters + (row - 1) * form_.number_bytes, form_.number_bytes) <
                        read_number(clusters + row * form_.number_bytes, form_.number_bytes),
                    "the clusters of a record are out of order");
        require(is_bitmap || read_number(clusters + (here.n_rows - 1) * form_.number_bytes,
                                         form_.number_bytes) < form_.n_clusters,
                "a cluster number is out of range");
        require(!is_bitmap || form_.n_clusters % 8 == 0 ||
                    clusters[form_.n_clusters / 8] >> (form_.n_clusters % 8) == 0,
                "a cluster number is out of range");
        uint32_t n_before = 0;
        for (uint32_t word = 0; is_bitmap && form_.n_words > 1 && word < form_.n_words; ++word) {
            require(read_number(clusters + form_.n_words * 8 + word * form_.number_bytes,
                                form_.number_bytes) == n_before,
                    "a record counts its rows wrongly");
            n_before += static_cast<uint32_t>(std::popcount(read_as<uint64_t>(clusters + word * 8)));
        }
        require(!is_bitmap || form_.n_words == 1 || n_before == here.n_rows,
                "a cluster number is out of range");
    }
    for_each_row(feature, [&](int64_t cluster, const uint8_t* row, uint32_t size) {
        const RowForm form = row_form(cluster);
        // How many weights there are must agree with the size before any is read.
        uint32_t n = form.list_length(size);
        if (size >= form.lists_below()) {
            n = 0;
            for (uint32_t g = 0; g < form.n_bitmap; ++g) n += static_cast<uint32_t>(std::popcount(row[g]));
        }
        require(n > 0 && form.size(n) == size, "the size of a row does not fit its weights");
        for_each_weight_of(cluster, row, size, [&](int64_t column, float weight) {
            require(column < this->size(cluster), "a slot number is out of range");
            require(weight - weight == 0, "a weight is not finite");
        });
    });
}

}  // namespace polyseme
