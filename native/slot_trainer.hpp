// Trains the slots of every cluster on the cluster's own rows.
#pragma once

#include "level_weights.hpp"
#include "parallel_for.hpp"
#include "slot_solver.hpp"
#include "sparse_view.hpp"

namespace polyseme {

struct SlotTask {
    DocumentsView documents;
    PatternView training_rows;              // clusters x documents
    const int64_t* slot_starts = nullptr;   // [n_clusters + 1]
    const int32_t* slot_targets = nullptr;  // [n_slots], which row of `positives` is a slot's own
    const float* target_weights = nullptr;  // [n_targets], what a positive counts; none for 1
    PatternView positives;                  // targets x documents
    // Clusters x documents, or no rows. Where given, a slot has only those positives that are
    // listed for its cluster; its other positives do not count for it, neither way.
    PatternView own_documents;
    // [n_clusters], where only some clusters of a level are trained: their numbers among all of
    // them. They name the random streams, so that a part of a level is the same as in the whole.
    const int32_t* cluster_numbers = nullptr;
    // [n_documents], where a draft is wanted as well: whether it must not have seen the document. It
    // is solved first, as `draft_solver` says; what is trained then goes on from there.
    const bool* held_out = nullptr;
    SolverOptions draft_solver;
    int64_t max_entries_whole = int64_t{1} << 20;  // a cluster with more is trained in pieces

    uint64_t cluster_number(int64_t cluster) const {
        return static_cast<uint64_t>(cluster_numbers ? cluster_numbers[cluster] : cluster);
    }
};

struct Pruning {
    // Of sparse features; the weights of dense columns are all kept.
    float threshold = 0.1f;   // weights of smaller magnitude are dropped
    int64_t max_weights = 0;  // a slot keeps that many of the largest; 0 for all
};

struct TrainedLevel {
    LevelWeights weights;
    LevelWeights draft;  // where wanted
};

TrainedLevel train_clusters(const SlotTask& task, const SolverOptions& solver, const Pruning& pruning,
                            bool byte_weights, uint64_t seed, int n_threads, RunControl& control);

}  // namespace polyseme
