// Linear classifiers for many slots of one cluster at once: dual coordinate descent in which each
// slot is one lane of a vector register. A row of the cluster is read once for all lanes.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel_for.hpp"
#include "random.hpp"

namespace polyseme {

enum class Loss { squared_hinge, logistic };

struct SolverOptions {
    Loss loss = Loss::squared_hinge;
    float cost = 1;
    float tolerance = 0.03f;
    int max_iter = 10;
    float bias = 1;  // value of a feature that every row has; 0 for none
};

// The training rows of one cluster. Features are renumbered to those that occur here, so that the
// weights of all lanes stay in the first levels of cache. A feature that only one row has needs no
// weight while solving: its weight is that row's dual times its value, so it acts on the row
// alone, as a constant on the diagonal of the dual problem.
//
// The entries are someone else's, and rows lie among them wherever they like: those of a large
// cluster are read where they are, without new numbers and without single features. So are dense
// columns, always.
struct LocalRows {
    struct Row {
        int64_t begin, end;  // among the entries
        float squared_norm;  // of the shared features, dense ones too
        float own_square;    // of the features that no other row has
    };
    const int32_t* features = nullptr;  // [entry]
    const float* values = nullptr;      // [entry]
    int32_t n_features = 0;             // that at least two rows have
    std::vector<Row> rows;
    int32_t n_dense = 0;              // columns that every row has
    std::vector<const float*> dense;  // [row], where there are such columns
    std::vector<float> feature_sums;  // over all rows; dense columns behind the features

    int32_t n_weights() const { return n_features + n_dense; }
    int32_t n_rows() const { return static_cast<int32_t>(rows.size()); }
};

// One group of slots to be solved. Arrays are [row][lane] and [feature][lane], 64-byte aligned;
// weights of dense columns lie behind those of the features.
struct LaneProblem {
    int n_lanes;                              // 8 or 16, or 2 where there are no dense columns
    const int8_t* targets;                    // +1, -1, or 0 where the row does not count for the lane
    float* duals;                             // out
    float* weights;                           // out
    float* bias_weights;                      // out, [lane]
    const float* positive_weights = nullptr;  // [lane], what a positive counts; none for 1
    // Whether the outputs hold an earlier solution to go on from. Rows that did not count for it may
    // count now: their duals are at their lowest.
    bool goes_on = false;
};

struct SolverScratch {
    std::vector<int32_t> active;
};

// Adds a dense row to sums, and returns the sum of its squares.
float add_dense_row(const float* row, int32_t n_columns, float* sums);

// The order in which rows are visited comes from the random stream.
void solve_lanes(const LocalRows& rows, const LaneProblem& problem, const SolverOptions& options,
                 Random random, SolverScratch& scratch, const RunControl& control);

// Appends the features for which some lane has a weight of at least the given magnitude.
void find_large_weights(const LaneProblem& problem, int32_t n_features, float least,
                        std::vector<int32_t>& features);

}  // namespace polyseme
