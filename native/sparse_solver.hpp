// Linear classifiers with few weights: squared hinge loss, regularised by the sum of magnitudes (l1).
// Coordinate descent on the weights themselves, on those features only that want a weight.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "parallel_for.hpp"
#include "random.hpp"
#include "slot_solver.hpp"
#include "sparse_view.hpp"

namespace polyseme {

// The training rows of one cluster by columns, with features renumbered to those that occur here.
// Dense columns are behind the sparse ones, and the constant feature, if there is one, is the last.
struct LocalColumns {
    struct Entry {
        int32_t row;
        float value;
    };
    DocumentsView documents;
    std::span<const int32_t> rows;     // documents, in their order
    std::vector<int32_t> features;     // [column], the number among all features; -1 for the constant
    std::vector<int64_t> starts;       // [n_columns + 1]
    std::vector<Entry> entries;        // rows ascend in a column
    std::vector<float> sums;           // [column], of its values
    std::vector<float> largest_value;  // [row], by magnitude, without the constant
    int32_t n_sparse = 0;              // columns of sparse features
    float bias = 0;

    LocalColumns(const DocumentsView& documents, std::span<const int32_t> rows, float bias);

    int32_t n_columns() const { return static_cast<int32_t>(features.size()); }
    bool has_bias() const { return bias != 0; }
    std::span<const Entry> column(int32_t c) const {
        return {entries.data() + starts[c], static_cast<size_t>(starts[c + 1] - starts[c])};
    }
};

// Solves one slot after another; holds what they share, so each thread has its own.
class SparseSolver {
  public:
    SparseSolver(const LocalColumns& columns, const RunControl& control);

    // Minimises the sum of the magnitudes of all weights, the constant's too, plus cost times the sum
    // over rows of max(0, |pull| - pull * margin)^2. A pull is the root of what a row counts, below 0
    // for negatives, and 0 where a row does not count. Goes on from the last solution, or from none.
    void solve(std::span<const float> pulls, const SolverOptions& options, Random random, bool goes_on);

    const std::vector<float>& weights() const { return weights_; }  // [column]

  private:
    struct RowState {
        float slack;  // what is missing to the margin that is wanted, times the magnitude of the pull
        float pull;
    };
    // Of the loss, along the weight of one column.
    struct Slope {
        double gradient = 0, curvature = 0;
        double change = 0;  // of the loss, by the move that led here
    };

    void begin(std::span<const float> pulls, bool goes_on);
    Slope slope(int32_t column) const;
    Slope move(int32_t column, float step);
    double improve(int32_t column, Slope at);
    double constant_violation(const Slope& at) const;
    double violation(int32_t column, double gradient) const;
    void compute_gradients(double allowed_error);
    double choose_active();
    void leap();
    double loss_and_magnitudes(double share) const;
    void descend(double until, Random& random, int& n_passes_left);

    const LocalColumns& columns_;
    const RunControl& control_;
    double cost_ = 1;
    float tolerance_ = 0;
    std::vector<float> weights_;    // [column]
    std::vector<RowState> states_;  // [row]
    std::vector<int32_t> active_;   // columns
    std::vector<float> gradients_;  // [feature]
    std::vector<float> wanted_;

    // Of the columns that leap together, the constant the last of them
    struct Part {
        int32_t place;  // among these columns
        float by;       // pull times value
    };
    std::vector<int32_t> leaping_;
    std::vector<int64_t> row_starts_;
    std::vector<Part> parts_;      // row after row
    std::vector<float> products_;  // of columns with each other, over rows near their margin
    std::vector<double> slopes_;   // of the loss, with the steps so far
    std::vector<double> steps_;
    std::vector<float> row_changes_;  // of slacks, by all steps
};

}  // namespace polyseme
