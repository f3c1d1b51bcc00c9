// Splits the labels into wide, uneven trees by recursive spherical k-means.
#pragma once

#include <vector>

#include "label_features.hpp"
#include "parallel_for.hpp"

namespace polyseme {

struct KMeansTreeOptions {
    int64_t branching = 100;  // most children of a node
    int64_t max_leaf_size = 100;
    int64_t max_levels = 3;  // below the root; what is still too large then stays a leaf
    int max_iter = 10;
    // A node with more labels finds its centroids with an even sample of them.
    int64_t sample_size = 6400;
    uint64_t seed = 0;
    // And then moves them so often to the middle of all labels that are nearest.
    int n_refinements = 2;
};

// Nodes are numbered level by level from left to right, the root is 0 and its parent -1. Leaves lie at
// any depth.
struct LabelGroups {
    std::vector<int64_t> parents;
    std::vector<int64_t> leaf_of_label;
};

LabelGroups group_labels(const LabelFeatures& label_features, const KMeansTreeOptions& options, int n_threads,
                         RunControl& control);

}  // namespace polyseme
