// Splits the labels into equal groups by recursive balanced spherical 2-means.
#pragma once

#include <vector>

#include "label_features.hpp"
#include "parallel_for.hpp"

namespace polyseme {

struct TreeOptions {
    std::vector<int32_t> fan_outs;  // children of a node, by level from the root
    int max_iter = 10;
    // A node with more labels finds its two centroids with an even sample of them.
    int64_t sample_size = 1024;
    uint64_t seed = 0;
    // And then moves them so often to the middle of all labels of their side.
    int n_refinements = 2;
};

// The labels in the order of the leaves; leaf j holds labels[starts[j]] to labels[starts[j + 1]],
// ascending. Sizes differ by one at most per split.
struct LeafPartition {
    std::vector<int64_t> starts;
    std::vector<int32_t> labels;
};

LeafPartition partition_labels(const LabelFeatures& label_features, const TreeOptions& options, int n_threads,
                               RunControl& control);

}  // namespace polyseme
