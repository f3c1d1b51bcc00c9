#include <cmath>
#include <vector>

#include "check.hpp"
#include "slot_solver.hpp"

using namespace polyseme;

namespace {

// The arrays of a group of lanes, aligned as the solver wants them.
struct Lanes {
    int n_lanes;
    alignas(64) int8_t targets[4 * 16] = {};
    alignas(64) float duals[4 * 16] = {};
    alignas(64) float weights[4 * 16] = {};
    alignas(64) float bias_weights[16] = {};

    void solve(const LocalRows& rows, const SolverOptions& options, const RunControl& control) {
        SolverScratch scratch;
        solve_lanes(rows, {n_lanes, targets, duals, weights, bias_weights}, options, Random(1), scratch, control);
    }
};

// Rows that have one feature, the same for all.
struct OneFeature : LocalRows {
    std::vector<int32_t> zeros;
    std::vector<float> given;

    explicit OneFeature(const std::vector<float>& row_values) : zeros(row_values.size(), 0), given(row_values) {
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

bool close(double a, double b) { return std::fabs(a - b) < 1e-3; }

}  // namespace

TEST("each lane finds the solution of its own problem") {
    const OneFeature rows({1, 2});
    for (const int n_lanes : {8, 16}) {
        Lanes lanes{n_lanes};
        lanes.targets[0] = 1;  // lane 0: the first row alone, positive
        lanes.targets[1] = -1;  // lane 1: the same, negative
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
    Lanes lanes{8};
    bool interrupted = false;
    try {
        lanes.solve(OneFeature({1}), {}, control);
    } catch (const Interrupted&) {
        interrupted = true;
    }
    CHECK(interrupted);
}
