#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "check.hpp"
#include "label_features.hpp"
#include "label_tree.hpp"
#include "random.hpp"

using namespace polyseme;

namespace {

// Sparse rows of random numbers; a few rows are empty.
struct RandomRows {
    std::vector<int64_t> starts{0};
    std::vector<int32_t> columns;
    std::vector<float> values;
    MatrixView view;

    RandomRows(int64_t n_rows, int32_t n_cols, uint64_t seed) {
        Random random(seed);
        for (int64_t i = 0; i < n_rows; ++i) {
            for (int32_t column = 0; column < n_cols; ++column) {
                if (i % 9 == 0 || random.below(4) != 0) continue;
                columns.push_back(column);
                values.push_back(float(1 + random.below(1000)) / 1000);
            }
            starts.push_back(static_cast<int64_t>(columns.size()));
        }
        view.n_rows = n_rows;
        view.n_cols = n_cols;
        view.starts = starts.data();
        view.columns = columns.data();
        view.values = values.data();
    }
};

// A tree of labels that have one document each.
LeafPartition partition(const MatrixView& rows, std::vector<int32_t> fan_outs, int n_threads,
                        RunControl& control) {
    std::vector<int64_t> starts(rows.n_rows + 1);
    std::iota(starts.begin(), starts.end(), 0);
    const std::vector<int32_t> documents(starts.begin(), starts.end());
    PatternView labels;
    labels.n_rows = labels.n_cols = rows.n_rows;
    labels.starts = starts.data();
    labels.columns = documents.data();
    const auto features = aggregate_label_features({rows}, labels, {}, n_threads, control);
    TreeOptions options;
    options.fan_outs = std::move(fan_outs);
    options.sample_size = 128;
    return partition_labels(features, options, n_threads, control);
}

LeafPartition partition(const MatrixView& rows, std::vector<int32_t> fan_outs, int n_threads) {
    RunControl control;
    return partition(rows, std::move(fan_outs), n_threads, control);
}

}  // namespace

TEST("leaves share the labels evenly for any fan-outs") {
    for (const int64_t n_labels : {0, 1, 5, 97, 400}) {
        const RandomRows rows(n_labels, 20, 1);
        for (const auto& fan_outs : std::vector<std::vector<int32_t>>{{}, {1}, {2}, {3, 5}, {7}, {2, 1, 3}}) {
            const auto leaves = partition(rows.view, fan_outs, 2);
            const int64_t n_leaves =
                std::accumulate(fan_outs.begin(), fan_outs.end(), int64_t{1}, std::multiplies<>());
            CHECK(static_cast<int64_t>(leaves.starts.size()) == n_leaves + 1);
            CHECK(leaves.starts.front() == 0 && leaves.starts.back() == n_labels);
            std::vector<char> seen(n_labels, 0);
            for (const int32_t label : leaves.labels) CHECK(!seen[label]++);
            for (int64_t leaf = 0; leaf < n_leaves; ++leaf) {
                const int64_t size = leaves.starts[leaf + 1] - leaves.starts[leaf];
                // Each cut is off by half a label at most, and there are a few cuts on the way.
                CHECK(std::abs(double(size) - double(n_labels) / double(n_leaves)) <= 2);
                CHECK(std::is_sorted(leaves.labels.begin() + leaves.starts[leaf],
                                     leaves.labels.begin() + leaves.starts[leaf + 1]));
            }
        }
    }
}

TEST("the tree is the same for any number of threads") {
    const RandomRows rows(1500, 30, 2);
    const auto one = partition(rows.view, {4, 8}, 1);
    for (const int n_threads : {2, 5}) {
        const auto many = partition(rows.view, {4, 8}, n_threads);
        CHECK(one.starts == many.starts);
        CHECK(one.labels == many.labels);
    }
}

TEST("a tree that is asked to stop ends with Interrupted") {
    const RandomRows rows(300, 20, 3);
    for (const int n_threads : {1, 3}) {
        RunControl control;
        control.stop();
        bool interrupted = false;
        try {
            partition(rows.view, {4, 4}, n_threads, control);
        } catch (const Interrupted&) {
            interrupted = true;
        }
        CHECK(interrupted);
    }
}

TEST("label features have unit length, few entries, and are the same for any number of threads") {
    const RandomRows documents(200, 70, 4);
    const RandomRows labels(900, 200, 5);  // which documents each label has
    RunControl control;
    const auto one = aggregate_label_features({documents.view}, labels.view, {20, 30}, 1, control);
    CHECK(one.rows.size() == 900);
    for (const LabelRow& row : one.rows) {
        double squared = 0;
        for (int64_t e = 0; e < row.size; ++e) squared += std::pow(double(row.factor) * row.values[e], 2);
        CHECK(row.size <= 20);
        CHECK(row.size == 0 || std::abs(squared - 1) < 1e-5);
    }
    for (const int n_threads : {2, 5}) {
        const auto many =
            aggregate_label_features({documents.view}, labels.view, {20, 30}, n_threads, control);
        for (size_t label = 0; label < 900; ++label) {
            const LabelRow &a = one.rows[label], &b = many.rows[label];
            CHECK(a.size == b.size && a.factor == b.factor);
            CHECK(std::equal(a.columns, a.columns + a.size, b.columns));
            CHECK(std::equal(a.values, a.values + a.size, b.values));
        }
    }
}

TEST("sums that cancel or overflow leave no trace in label features") {
    const std::vector<int64_t> starts{0, 2, 4, 6, 7};
    const std::vector<int32_t> columns{0, 1, 0, 1, 0, 1, 2};
    const std::vector<float> values{1, 3, -1, 4, 1, 0.5f, 3e38f};
    MatrixView documents;
    documents.n_rows = 4;
    documents.n_cols = 3;
    documents.starts = starts.data();
    documents.columns = columns.data();
    documents.values = values.data();
    const std::vector<int64_t> label_starts{0, 2, 5, 6, 8};
    // Twice the last document: not a form that the library makes, but one that overflows.
    const std::vector<int32_t> label_documents{0, 1, 0, 1, 2, 3, 3, 3};
    PatternView labels;
    labels.n_rows = 4;
    labels.n_cols = 4;
    labels.starts = label_starts.data();
    labels.columns = label_documents.data();
    RunControl control;
    const auto found = aggregate_label_features({documents}, labels, {}, 1, control);
    CHECK(found.rows[0].size == 1);  // 1 - 1 is gone
    CHECK(found.rows[0].columns[0] == 1);
    CHECK(found.rows[1].size == 2);  // 1 - 1 + 1 counts once
    CHECK(found.rows[2].size == 1);
    CHECK(std::abs(found.rows[2].factor * found.rows[2].values[0] - 1) < 1e-6);
    CHECK(found.rows[3].size == 0);
}
