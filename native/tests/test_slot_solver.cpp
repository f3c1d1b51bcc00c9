#include <cmath>
#include <vector>

#include "check.hpp"
#include "dense_rows.hpp"
#include "slot_solver.hpp"

using namespace polyseme;

namespace {

// The arrays of a group of lanes, aligned as the solver wants them.
struct Lanes {
    int n_lanes;
    alignas(64) int8_t targets[32 * 16] = {};
    alignas(64) float duals[32 * 16] = {};
    alignas(64) float weights[32 * 16] = {};
    alignas(64) float bias_weights[16] = {};

    void solve(const LocalRows& rows, const SolverOptions& options, const RunControl& control) {
        SolverScratch scratch;
        solve_lanes(rows, {n_lanes, targets, duals, weights, bias_weights}, options, Random(1), scratch,
                    control);
    }
};

// Rows that have one feature, the same for all.
struct OneFeature : LocalRows {
    std::vector<int32_t> zeros;
    std::vector<float> given;

    explicit OneFeature(const std::vector<float>& row_values)
        : zeros(row_values.size(), 0), given(row_values) {
        features = zeros.data();
        values = given.data();
        n_features = 1;
        feature_sums = {0};
        for (const float value : given) {
            rows.push_back({n_rows(), n_rows() + 1, value * value, 0});
            feature_sums[0] += value;
        }
    }
};

// The same random numbers as sparse entries and as dense columns. Rows are much alike, so that what one
// of them learns matters to the next.
struct SameNumbers {
    std::vector<float> numbers;  // row after row
    std::vector<int32_t> columns;
    LocalRows sparse, dense;

    SameNumbers(int32_t n_rows, int32_t n_columns) {
        Random random(n_rows * 100 + n_columns);
        dense.n_dense = sparse.n_features = n_columns;
        dense.feature_sums.assign(n_columns, 0);
        for (int32_t e = 0; e < n_rows * n_columns; ++e) {
            const float noise = float(random.below(2000)) / 1000 - 1;
            numbers.push_back((noise + (e % n_columns % 2 == 0 ? 3 : -3)) / std::sqrt(float(n_columns)));
            columns.push_back(e % n_columns);
        }
        for (int32_t i = 0; i < n_rows; ++i) {
            const int32_t begin = i * n_columns;
            dense.dense.push_back(numbers.data() + begin);
            const float squares = add_dense_row(dense.dense[i], n_columns, dense.feature_sums.data());
            float expected = 0;
            for (int32_t j = 0; j < n_columns; ++j) expected += numbers[begin + j] * numbers[begin + j];
            CHECK(std::fabs(squares - expected) < 1e-4f);
            dense.rows.push_back({0, 0, squares, 0});
            sparse.rows.push_back({begin, begin + n_columns, squares, 0});
        }
        sparse.feature_sums = dense.feature_sums;
        sparse.features = columns.data();
        sparse.values = numbers.data();
    }
};

bool close(double a, double b) { return std::fabs(a - b) < 1e-3; }

}  // namespace

TEST("each lane finds the solution of its own problem") {
    const OneFeature rows({1, 2});
    for (const int n_lanes : {8, 16}) {
        Lanes lanes{n_lanes};
        lanes.targets[0] = 1;            // lane 0: the first row alone, positive
        lanes.targets[1] = -1;           // lane 1: the same, negative
        lanes.targets[n_lanes - 1] = 1;  // last lane: both rows, on different sides
        lanes.targets[2 * n_lanes - 1] = -1;
        lanes.solve(rows, {Loss::squared_hinge, 1.f, 1e-6f, 1000, 0.f}, RunControl());
        // The minima of w^2/2 + (1 - w)^2 and of w^2/2 + (1 - w)^2 + (1 + 2w)^2.
        CHECK(close(lanes.weights[0], 2. / 3));
        CHECK(close(lanes.weights[1], -2. / 3));
        CHECK(close(lanes.weights[n_lanes - 1], -2. / 11));
        CHECK(lanes.weights[2] == 0);
        CHECK(lanes.bias_weights[0] == 0);
    }
}

TEST("the logistic loss finds the solution too") {
    Lanes lanes{8};
    lanes.targets[0] = 1;
    lanes.solve(OneFeature({1}), {Loss::logistic, 1.f, 1e-6f, 1000, 0.f}, RunControl());
    const double w = lanes.weights[0];
    CHECK(close(w, 1 / (1 + std::exp(w))));  // where the derivative of the objective is zero
}

TEST("two lanes find what the first two of eight find") {
    for (const Loss loss : {Loss::squared_hinge, Loss::logistic}) {
        for (const int32_t n_rows : {1, 2, 7, 30}) {
            const SameNumbers same(n_rows, 9);
            Lanes two{2}, eight{8};
            Random random(n_rows);
            for (int32_t i = 0; i < n_rows; ++i)
                for (int lane = 0; lane < 2; ++lane)
                    two.targets[2 * i + lane] = eight.targets[8 * i + lane] = random.below(3) == 0 ? 1 : -1;
            const SolverOptions options{loss, 1.f, 0.01f, 20, 0.5f};
            two.solve(same.sparse, options, RunControl());
            eight.solve(same.sparse, options, RunControl());
            for (int32_t f = 0; f < 9; ++f)
                for (int lane = 0; lane < 2; ++lane)
                    CHECK(close(two.weights[2 * f + lane], eight.weights[8 * f + lane]));
            std::vector<int32_t> of_two, of_eight;
            find_large_weights({2, two.targets, two.duals, two.weights, two.bias_weights}, 9, 0.1f, of_two);
            find_large_weights({8, eight.targets, eight.duals, eight.weights, eight.bias_weights}, 9, 0.1f,
                               of_eight);
            CHECK(of_two == of_eight);
        }
    }
}

TEST("dense columns give the weights of the same numbers as sparse entries") {
    for (const Loss loss : {Loss::squared_hinge, Loss::logistic}) {
        for (const int n_lanes : {8, 16}) {
            for (const int32_t n_rows : {1, 2, 3, 4, 7, 30}) {
                for (const int32_t n_columns : {1, 3, 8, 13, 31}) {
                    const SameNumbers same(n_rows, n_columns);
                    Lanes sparse{n_lanes}, dense{n_lanes};
                    Random random(n_rows);
                    for (int32_t at = 0; at < n_rows * n_lanes; ++at)
                        sparse.targets[at] = dense.targets[at] = random.below(3) == 0 ? 1 : -1;
                    const SolverOptions exact{loss, 1.f, 1e-4f, 3000, 0.5f};
                    sparse.solve(same.sparse, exact, RunControl());
                    dense.solve(same.dense, exact, RunControl());
                    for (int at = 0; at < n_columns * n_lanes; ++at)
                        CHECK(close(sparse.weights[at], dense.weights[at]));
                    for (int lane = 0; lane < n_lanes; ++lane)
                        CHECK(close(sparse.bias_weights[lane], dense.bias_weights[lane]));
                }
            }
        }
    }
}

TEST("features that no other row has, and a large bias, count in the solution") {
    for (const float bias : {0.f, 3.f}) {
        LocalRows rows;
        rows.rows = {{0, 0, 0, 2.f}, {0, 0, 0, 4.f}};  // a single feature each, of squares 2 and 4
        Lanes lanes{8};
        lanes.targets[0] = lanes.targets[8] = 1;
        lanes.solve(rows, {Loss::squared_hinge, 1.f, 1e-6f, 1000, bias}, RunControl());
        // Where the gradient of the dual problem is zero: bias^2 (a + b) + a (2 + 1/2) = 1, and so for b.
        const double a = 1 / (2.5 + bias * bias * (1 + 2.5 / 4.5)), b = 2.5 / 4.5 * a;
        CHECK(close(lanes.duals[0], a) && close(lanes.duals[8], b));
        CHECK(close(lanes.bias_weights[0], bias * (a + b)));
    }
}

TEST("products of rows that overflow count as nothing") {
    const float row[3] = {1, 2, 3}, huge[3] = {3e38f, 3e38f, 3e38f};
    const float* const rows[] = {row, huge, row, huge};
    const RowProducts products(rows, 3);
    CHECK(products.of[1][0] == 0 && products.of[3][1] == 0 && products.of[2][0] == 14);
}

TEST("large weights are found on both sides of zero") {
    Lanes lanes{16};
    lanes.weights[0 * 16 + 3] = 0.5f;
    lanes.weights[1 * 16 + 15] = -0.5f;
    lanes.weights[2 * 16 + 7] = -0.4f;
    std::vector<int32_t> found;
    find_large_weights({16, lanes.targets, lanes.duals, lanes.weights, lanes.bias_weights}, 3, 0.5f, found);
    CHECK((found == std::vector<int32_t>{0, 1}));
}

TEST("no rows give no weights") {
    LocalRows nothing;
    Lanes lanes{16};
    lanes.bias_weights[0] = 5;
    lanes.solve(nothing, {}, RunControl());
    CHECK(lanes.bias_weights[0] == 0);
}

TEST("a solver that is asked to stop ends with Interrupted") {
    RunControl control;
    control.stop();
    const OneFeature sparse({1});
    const SameNumbers same(1, 1);
    for (const LocalRows* rows : {static_cast<const LocalRows*>(&sparse), &same.dense}) {
        Lanes lanes{8};
        bool interrupted = false;
        try {
            lanes.solve(*rows, {}, control);
        } catch (const Interrupted&) {
            interrupted = true;
        }
        CHECK(interrupted);
    }
}
