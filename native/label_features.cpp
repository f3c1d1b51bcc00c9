#include "label_features.hpp"

#include <bit>
#include <cmath>

namespace polyseme {

namespace {

constexpr int64_t labels_per_block = 256;

// A dense sum over all features, and which of them were touched.
struct Accumulator {
    std::vector<float> sums;
    std::vector<uint64_t> touched;

    explicit Accumulator(int64_t n_features) : sums(n_features), touched((n_features + 63) / 64) {}

    void add(std::span<const int32_t> columns, std::span<const float> values) {
        for (size_t e = 0; e < columns.size(); ++e) {
            sums[columns[e]] += values[e];
            touched[columns[e] >> 6] |= uint64_t{1} << (columns[e] & 63);
        }
    }

    void move_into(SparseRows& rows) {
        for (size_t word = 0; word < touched.size(); ++word) {
            for (uint64_t bits = touched[word]; bits != 0; bits &= bits - 1) {
                const auto column = static_cast<int32_t>(word * 64 + std::countr_zero(bits));
                rows.columns.push_back(column);
                rows.values.push_back(sums[column]);
                sums[column] = 0;
            }
            touched[word] = 0;
        }
    }
};

void normalise(float* values, size_t n) {
    double squared = 0;
    for (size_t e = 0; e < n; ++e) squared += double(values[e]) * values[e];
    if (squared == 0) return;
    const auto factor = static_cast<float>(1 / std::sqrt(squared));
    for (size_t e = 0; e < n; ++e) values[e] *= factor;
}

}  // namespace

SparseRows aggregate_label_features(const MatrixView& features, const PatternView& label_rows,
                                    int n_threads, RunControl& control) {
    const int64_t n_labels = label_rows.n_rows;
    const int64_t n_blocks = (n_labels + labels_per_block - 1) / labels_per_block;
    std::vector<SparseRows> blocks(n_blocks);
    std::vector<std::vector<Accumulator>> accumulators(std::max(1, n_threads));

    parallel_for(n_blocks, n_threads, control, [&](int64_t b, int worker) {
        if (accumulators[worker].empty()) accumulators[worker].emplace_back(features.n_cols);
        auto& sum = accumulators[worker][0];
        auto& block = blocks[b];
        const int64_t end = std::min(n_labels, (b + 1) * labels_per_block);
        for (int64_t label = b * labels_per_block; label < end; ++label) {
            const auto documents = label_rows.row(label);
            const size_t first = block.columns.size();
            if (documents.size() == 1) {
                const auto columns = features.row(documents[0]);
                const auto values = features.row_values(documents[0]);
                block.columns.insert(block.columns.end(), columns.begin(), columns.end());
                block.values.insert(block.values.end(), values.begin(), values.end());
            } else if (!documents.empty()) {
                for (const int32_t document : documents)
                    sum.add(features.row(document), features.row_values(document));
                sum.move_into(block);
            }
            normalise(block.values.data() + first, block.values.size() - first);
            block.starts.push_back(static_cast<int64_t>(block.columns.size()));
        }
        control.throw_if_stopped();
        control.advance(end - b * labels_per_block);
    });

    SparseRows result;
    std::vector<int64_t> block_starts(n_blocks + 1, 0);
    for (int64_t b = 0; b < n_blocks; ++b)
        block_starts[b + 1] = block_starts[b] + static_cast<int64_t>(blocks[b].columns.size());
    result.starts.resize(n_labels + 1);
    result.columns.resize(block_starts[n_blocks]);
    result.values.resize(block_starts[n_blocks]);
    parallel_for(n_blocks, n_threads, control, [&](int64_t b, int) {
        auto& block = blocks[b];
        std::copy(block.columns.begin(), block.columns.end(), result.columns.begin() + block_starts[b]);
        std::copy(block.values.begin(), block.values.end(), result.values.begin() + block_starts[b]);
        for (size_t i = 1; i < block.starts.size(); ++i)
            result.starts[b * labels_per_block + i] = block_starts[b] + block.starts[i];
        block = SparseRows();
    });
    return result;
}

}  // namespace polyseme
