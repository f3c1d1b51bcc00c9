// Trains the slots of every cluster as classifiers with few weights; see sparse_solver.hpp.
#pragma once

#include "slot_trainer.hpp"

namespace polyseme {

// The same as `train_clusters` for another problem: squared hinge loss with the sum of magnitudes.
TrainedLevel train_sparse_clusters(const SlotTask& task, const SolverOptions& solver, const Pruning& pruning,
                                   bool byte_weights, uint64_t seed, int n_threads, RunControl& control);

}  // namespace polyseme
