#include <numeric>
#include <vector>

#include "check.hpp"
#include "k_means_tree.hpp"
#include "random.hpp"

using namespace polyseme;

namespace {

// Labels with a few random features each; every ninth has none.
struct RandomLabels {
    std::vector<std::vector<int32_t>> columns;
    std::vector<std::vector<float>> values;
    LabelFeatures features;

    RandomLabels(int64_t n_labels, int32_t n_features, uint64_t seed) : columns(n_labels), values(n_labels) {
        Random random(seed);
        features.n_features = n_features;
        features.rows.resize(n_labels);
        for (int64_t i = 0; i < n_labels; ++i) {
            for (int32_t column = 0; column < n_features; ++column) {
                if (i % 9 == 0 || random.below(4) != 0) continue;
                columns[i].push_back(column);
                values[i].push_back(float(1 + random.below(1000)) / 1000);
            }
            features.rows[i] = {columns[i].data(), values[i].data(), std::ssize(columns[i]), 1};
        }
    }
};

KMeansTreeOptions small_options() {
    KMeansTreeOptions options;
    options.branching = 20;
    options.max_leaf_size = 7;
    options.sample_size = 128;
    return options;
}

}  // namespace

TEST("groups of labels have parents before them and all labels in leaves") {
    for (const int64_t n_labels : {0, 1, 7, 8, 97, 1500}) {
        const RandomLabels labels(n_labels, 30, 1);
        RunControl control;
        const auto groups = group_labels(labels.features, small_options(), 2, control);
        std::vector<char> is_inner(groups.parents.size(), 0);
        CHECK(groups.parents[0] == -1);
        for (size_t node = 1; node < groups.parents.size(); ++node) {
            CHECK(groups.parents[node] >= 0 && groups.parents[node] < static_cast<int64_t>(node));
            is_inner[groups.parents[node]] = 1;
        }
        CHECK(static_cast<int64_t>(groups.leaf_of_label.size()) == n_labels);
        for (const int64_t leaf : groups.leaf_of_label) CHECK(!is_inner[leaf]);
    }
}

TEST("groups of labels are the same for any number of threads") {
    const RandomLabels labels(1500, 30, 2);
    RunControl control;
    const auto one = group_labels(labels.features, small_options(), 1, control);
    for (const int n_threads : {2, 5}) {
        const auto many = group_labels(labels.features, small_options(), n_threads, control);
        CHECK(one.parents == many.parents);
        CHECK(one.leaf_of_label == many.leaf_of_label);
    }
}

TEST("a grouping that is asked to stop ends with Interrupted") {
    for (const int64_t n_labels : {60, 600}) {
        const RandomLabels labels(n_labels, 20, 3);
        for (const int n_threads : {1, 3}) {
            RunControl control;
            control.stop();
            bool interrupted = false;
            try {
                group_labels(labels.features, small_options(), n_threads, control);
            } catch (const Interrupted&) {
                interrupted = true;
            }
            CHECK(interrupted);
        }
    }
}
