// From co-occurrence to slots: the ways to choose the clusters of each label.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "parallel_for.hpp"
#include "sparse_view.hpp"

namespace polyseme {

// Non-owning view of a CoOccurrence; the columns of a row are a label's candidate clusters.
struct CandidatesView : PatternView {
    const int32_t* counts = nullptr;
    const float* scores = nullptr;

    int32_t n_candidates(int64_t label) const {
        return static_cast<int32_t>(starts[label + 1] - starts[label]);
    }
};

// What every method looks at.
struct AssignmentProblem {
    CandidatesView candidates;  // labels x clusters
    PatternView present;        // labels x clusters: where each label is now, at least one cluster
    PatternView label_rows;     // labels x documents
    PatternView matched;        // documents x clusters

    int64_t n_labels() const { return candidates.n_rows; }
    int64_t n_clusters() const { return candidates.n_cols; }
    bool is_present(int64_t label, int32_t cluster) const;
    // Order of choice between two candidates of a label, given by their entries: count, sum of
    // scores, present cluster, lower id.
    bool comes_first(int64_t label, int64_t entry, int64_t other) const;
    bool wins_tie(int64_t label, int64_t entry, int64_t other) const;  // the same without count
};

// The clusters of each label, ascending.
struct ChosenClusters {
    std::vector<int64_t> starts;
    std::vector<int32_t> clusters;
};

// The paper's Eq. (10): each label's best `copies` candidates in the order of choice.
ChosenClusters choose_closed_form(const AssignmentProblem& problem, int64_t copies, int n_threads,
                                  RunControl& control);

// The paper's objective (7): as many documents of each label covered as `copies` clusters can.
// The best pair where copies = 2; beyond, greedy, or the closed form where that covers more.
ChosenClusters choose_coverage(const AssignmentProblem& problem, int64_t copies, int n_threads,
                               RunControl& control);

// The paper's Eq. (PGD-v2): most counts with at most `max_cluster_size` labels a cluster and every
// label somewhere. An auction: within one percent of the best, except where places are so scarce
// that extra slots must give way; there the price of these is searched for, without a guarantee.
ChosenClusters choose_capped(const AssignmentProblem& problem, int64_t copies, int64_t max_cluster_size,
                             RunControl& control);

// copies * n_labels slots at most: one for every label, the others where they cover most documents
// that the label's slots do not cover yet.
ChosenClusters choose_adaptive(const AssignmentProblem& problem, int64_t copies, int64_t max_cluster_size,
                               int n_threads, RunControl& control);

}  // namespace polyseme
