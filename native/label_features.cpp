#include "label_features.hpp"

#include <bit>
#include <cmath>
#include <utility>

namespace polyseme {

namespace {

constexpr int64_t labels_per_block = 64;

// Adds up the documents of one label after the other.
class Accumulator {
  public:
    Accumulator(int64_t n_features, int64_t n_dense)
        : sums_(n_features, 0), dense_sums_(n_dense, 0), n_of_size_(n_sizes) {}

    void add(std::span<const int32_t> columns, std::span<const float> values) {
        const size_t n_at_most = n_touched_ + columns.size();
        if (touched_.size() < n_at_most) touched_.resize(2 * n_at_most);
        float* sums = sums_.data();
        int32_t* end = touched_.data() + n_touched_;
        for (size_t e = 0; e < columns.size(); ++e) {
            float& sum = sums[columns[e]];
            *end = columns[e];
            end += sum == 0;  // without a branch, which would be hard to foresee
            sum += values[e];
        }
        n_touched_ = end - touched_.data();
    }

    void add_dense(std::span<const float> row) {
        for (size_t j = 0; j < row.size(); ++j) dense_sums_[j] += row[j];
    }

    // Appends the `max_features` largest sums and those of all dense columns, the first seen where they are equal; forgets all.
    void move_into(LabelFeatures::Block& block, int64_t max_features) {
        const size_t first = block.values.size();
        block.columns.resize(first + n_touched_);
        block.values.resize(first + n_touched_);
        int32_t* columns = block.columns.data() + first;
        float* values = block.values.data() + first;
        int64_t n = 0;
        for (size_t t = 0; t < n_touched_; ++t) {
            float& sum = sums_[touched_[t]];
            columns[n] = touched_[t];
            values[n] = sum;
            n += sum != 0;  // cancelled, or seen already after it was cancelled once
            sum = 0;
        }
        n_touched_ = 0;
        if (n > max_features) n = keep_largest(columns, values, n, max_features);
        block.columns.resize(first + n);
        block.values.resize(first + n);
        for (size_t j = 0; j < dense_sums_.size(); ++j) {
            if (dense_sums_[j] == 0) continue;
            block.columns.push_back(static_cast<int32_t>(sums_.size() + j));
            block.values.push_back(std::exchange(dense_sums_[j], 0.f));
        }
    }

  private:
    // Magnitudes up to a factor of 1.25 apart have the same size, larger ones a larger size.
    static constexpr int n_sizes = 2048;
    static uint32_t size_of(float value) { return (std::bit_cast<uint32_t>(value) & 0x7fffffffu) >> 20; }

    int64_t keep_largest(int32_t* columns, float* values, int64_t n, int64_t n_kept) {
        std::fill(n_of_size_.begin(), n_of_size_.end(), 0);
        for (int64_t e = 0; e < n; ++e) ++n_of_size_[size_of(values[e])];
        uint32_t size = n_sizes - 1;
        int64_t n_left = n_kept;
        for (; n_of_size_[size] < n_left; --size) n_left -= n_of_size_[size];
        // Some of this size are kept, all above it, none below it.
        magnitudes_.clear();
        for (int64_t e = 0; e < n; ++e)
            if (size_of(values[e]) == size) magnitudes_.push_back(std::abs(values[e]));
        const auto last = magnitudes_.begin() + (n_left - 1);
        std::nth_element(magnitudes_.begin(), last, magnitudes_.end(), std::greater<>());
        const float smallest = *last;
        int64_t n_equal = std::count(magnitudes_.begin(), last + 1, smallest);
        int64_t kept = 0;
        for (int64_t e = 0; e < n; ++e) {
            const float value = values[e];
            columns[kept] = columns[e];
            values[kept] = value;
            kept += std::abs(value) > smallest || (std::abs(value) == smallest && n_equal-- > 0);
        }
        return kept;
    }

    std::vector<float> sums_, dense_sums_, magnitudes_;
    std::vector<int64_t> n_of_size_;
    std::vector<int32_t> touched_;
    size_t n_touched_ = 0;
};

// What brings the values to unit length; 0 where none does.
float unit_factor(const float* values, int64_t n) {
    double squared = 0;
    for (int64_t e = 0; e < n; ++e) squared += double(values[e]) * values[e];
    const auto factor = static_cast<float>(1 / std::sqrt(squared));
    return std::isfinite(factor) ? factor : 0;
}

}  // namespace

LabelFeatures aggregate_label_features(const DocumentsView& all_features, const PatternView& label_rows,
                                       const LabelFeatureLimits& limits, int n_threads, RunControl& control) {
    const MatrixView& features = all_features.sparse;
    const int64_t n_labels = label_rows.n_rows;
    const int64_t n_blocks = (n_labels + labels_per_block - 1) / labels_per_block;
    LabelFeatures result;
    result.n_features = all_features.n_features();
    result.rows.resize(n_labels);
    result.blocks.resize(n_blocks);
    struct Scratch {
        std::vector<Accumulator> sum;
        LabelFeatures::Block block;
    };
    std::vector<Scratch> scratch(std::max(1, n_threads));

    parallel_for(n_blocks, n_threads, control, [&](int64_t b, int worker) {
        auto& [sums, gathered] = scratch[worker];
        if (sums.empty()) sums.emplace_back(features.n_cols, all_features.n_dense);
        gathered.columns.clear();
        gathered.values.clear();
        const int64_t begin = b * labels_per_block;
        const int64_t end = std::min(n_labels, begin + labels_per_block);
        for (int64_t label = begin; label < end; ++label) {
            const auto documents = label_rows.row(label);
            const auto n_documents = static_cast<int64_t>(documents.size());
            const int64_t n_used = std::min(n_documents, limits.max_documents);
            LabelRow& row = result.rows[label];
            if (n_documents == 1 && all_features.n_dense == 0 &&
                std::ssize(features.row(documents[0])) <= limits.max_features) {
                row.columns = features.row(documents[0]).data();
                row.values = features.row_values(documents[0]).data();
                row.size = std::ssize(features.row(documents[0]));
                continue;
            }
            for (int64_t j = 0; j < n_used; ++j) {
                const int32_t document = documents[j * n_documents / n_used];
                sums[0].add(features.row(document), features.row_values(document));
                sums[0].add_dense(all_features.dense_row(document));
            }
            const auto n_before = std::ssize(gathered.values);
            sums[0].move_into(gathered, limits.max_features);
            row.size = std::ssize(gathered.values) - n_before;
            control.throw_if_stopped();
        }
        // Copies of just the right size.
        auto& block = result.blocks[b];
        block.columns.assign(gathered.columns.begin(), gathered.columns.end());
        block.values.assign(gathered.values.begin(), gathered.values.end());
        int64_t start = 0;
        for (int64_t label = begin; label < end; ++label) {
            LabelRow& row = result.rows[label];
            if (row.columns == nullptr) {
                row.columns = block.columns.data() + start;
                row.values = block.values.data() + start;
                start += row.size;
            }
            row.factor = unit_factor(row.values, row.size);
            if (row.factor == 0) row.size = 0;
        }
        control.advance(end - begin);
    });
    return result;
}

}  // namespace polyseme
