// One label's documents, cluster by cluster: what the methods need that count coverage.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assignment.hpp"

namespace polyseme {

// Candidates are numbered by rank, best first in the order of choice. Scratch memory of one worker,
// loaded anew for each label.
class LabelCover {
  public:
    explicit LabelCover(const AssignmentProblem& problem)
        : problem_(problem), rank_of_cluster_(problem.n_clusters()) {}

    void load(int64_t label);

    int32_t n_ranks() const { return static_cast<int32_t>(entries_.size()); }
    int64_t entry(int32_t rank) const { return entries_[rank]; }
    int32_t cluster(int32_t rank) const { return problem_.candidates.columns[entries_[rank]]; }
    int32_t rank_of(int32_t cluster) const { return rank_of_cluster_[cluster]; }
    int32_t count(int32_t rank) const { return problem_.candidates.counts[entries_[rank]]; }
    int32_t n_reachable() const { return n_reachable_; }

    // How many documents of the label this cluster would add to those covered so far.
    int32_t gain(int32_t rank) const { return gains_[rank]; }
    // Adds a cluster to the cover and returns its gain.
    int32_t cover(int32_t rank);
    void uncover_all();

    // The pair that covers most documents; the first such pair in the order of choice.
    std::pair<int32_t, int32_t> best_pair();

  private:
    std::span<const int32_t> documents(int32_t rank) const {
        return {documents_.data() + starts_[rank], static_cast<size_t>(count(rank))};
    }
    // The clusters of the label's i-th document.
    std::span<const int32_t> clusters_of(int32_t i) const {
        return problem_.matched.row(problem_.label_rows.row(label_)[i]);
    }

    const AssignmentProblem& problem_;
    int64_t label_ = 0;
    int32_t n_reachable_ = 0;
    std::vector<int64_t> entries_;          // of the co-occurrence, by rank
    std::vector<int32_t> rank_of_cluster_;  // valid for the clusters of this label
    std::vector<int64_t> starts_;           // by rank, into documents_
    std::vector<int32_t> documents_;        // numbered within the label
    std::vector<int32_t> gains_;            // by rank
    std::vector<int32_t> shared_;           // by rank, all zero between calls
    std::vector<char> is_covered_;          // by document
};

}  // namespace polyseme
