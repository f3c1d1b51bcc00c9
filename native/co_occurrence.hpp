// How often, and how surely, the documents of a label are matched to each cluster.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel_for.hpp"
#include "sparse_view.hpp"

namespace polyseme {

// Labels x clusters (the paper's Y^T M), clusters ascending within a label.
struct CoOccurrence {
    std::vector<int64_t> starts;    // n_labels + 1
    std::vector<int32_t> clusters;  // one for each stored pair
    std::vector<int32_t> counts;    // documents of the label that were matched to the cluster
    std::vector<float> scores;      // sum of the matcher's scores of these documents
};

// `label_rows` are the documents of each label, `matched` the clusters of each document.
CoOccurrence count_co_occurrence(const PatternView& label_rows, const MatrixView& matched, int n_threads,
                                 RunControl& control);

// The (document, label) pairs that the beam can reach: the document is matched to at least one
// cluster of the label. `label_clusters` are the clusters of each label.
int64_t count_reached(const PatternView& label_rows, const PatternView& matched,
                      const PatternView& label_clusters, int n_threads, RunControl& control);

}  // namespace polyseme
