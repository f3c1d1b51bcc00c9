// Walks documents down the tree, keeping the best nodes of each level.
#pragma once

#include <vector>

#include "linear_level.hpp"
#include "parallel_for.hpp"

namespace polyseme {

// The nodes that each document has reached on one level, best first.
struct Beams {
    int32_t beam_size = 0;
    std::vector<int32_t> sizes;   // [document]
    std::vector<int32_t> nodes;   // [document * beam_size + rank]
    std::vector<float> scores;

    void reset(int64_t n_documents, int32_t size);
    // Every document at the root.
    static Beams at_root(int64_t n_documents);
};

// Which documents of a block visit which cluster: the beams, turned round.
class VisitPlan {
  public:
    void build(const Beams& beams, int64_t n_clusters);
    // Calls visit_cluster(cluster, indices into the beams) for each visited cluster, ascending.
    template <class F>
    void for_each_cluster(F&& visit_cluster) const {
        for (size_t c = 0; c < clusters_.size(); ++c)
            visit_cluster(clusters_[c], std::span<const int32_t>(places_.data() + starts_[c],
                                                                 starts_[c + 1] - starts_[c]));
    }

  private:
    std::vector<int32_t> counts_;    // scratch, [cluster]
    std::vector<int32_t> clusters_;  // visited ones, ascending
    std::vector<int32_t> starts_;
    std::vector<int32_t> places_;    // document * beam_size + rank
};

struct BeamScratch {
    VisitPlan plan;
    std::vector<Visit> visits;
    std::vector<float> scores;
    Beams next;
};

// One level down: replaces `beams` by the best `beam_size` children.
void advance_beams(const LinearLevel& level, const MatrixView& documents, int32_t beam_size,
                   Activation activation, Beams& beams, BeamScratch& scratch);

// How many documents to walk together: enough that a cluster serves several while it is in cache.
int64_t documents_per_block(int64_t n_documents, int n_threads);

// A run of rows of a matrix.
MatrixView rows_of(const MatrixView& matrix, int64_t begin, int64_t end);

}  // namespace polyseme
