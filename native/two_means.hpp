// Balanced spherical 2-means of sparse rows: two centroids, and half of the rows for each.
#pragma once

#include <functional>
#include <vector>

#include "label_features.hpp"
#include "parallel_for.hpp"
#include "random.hpp"

namespace polyseme {

// Sum of values[e] * dense[columns[e]], times the row's factor.
float dot(const LabelRow& row, const std::vector<float>& dense);

// Sorts large scores first, and the lower index first where they are equal. The low half of a key
// is the index.
uint64_t sort_key(float score, int64_t index);

// Rows copied side by side, with only those features that two of them have at least, since others
// say nothing of similarity. These are numbered anew: centroids are short and stay in cache.
struct GatheredRows {
    std::vector<int64_t> starts;
    std::vector<int32_t> columns;
    std::vector<float> values;
    std::vector<int32_t> features;  // the number that each feature had before
    std::vector<float> total;       // the sum of all rows, padded with zeros

    int64_t n_rows() const { return std::ssize(starts) - 1; }
    int64_t n_features() const { return std::ssize(features); }
    LabelRow row(int64_t i) const {
        return {columns.data() + starts[i], values.data() + starts[i], starts[i + 1] - starts[i], 1};
    }

    using RowOf = std::function<LabelRow(int64_t)>;
    void gather(int64_t n_rows, const RowOf& row_of, int64_t n_features_before);

  private:
    std::vector<int32_t> numbers_;  // scratch
};

// What a run found; an object may run many times and keeps its memory.
struct TwoMeans {
    std::vector<char> on_left;
    std::vector<float> difference;  // left centroid minus right centroid, both of unit length

    // Starts from two random rows, ends when no row changes its side or after `max_iter` rounds.
    void run(const GatheredRows& rows, int64_t n_left, int max_iter, Random random,
             const RunControl& control);

  private:
    std::vector<float> left_;
    std::vector<uint64_t> keys_;
};

}  // namespace polyseme
