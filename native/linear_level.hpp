// One trained level of the model, ready to score documents.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "activation.hpp"
#include "cluster_weights.hpp"
#include "sparse_view.hpp"

namespace polyseme {

// A document to be scored against the slots of one cluster.
struct Visit {
    int32_t document;  // a row of the matrix at hand
    float score;       // of the path so far
    float* scores;     // out: one for each slot of the cluster
};

class LinearLevel {
  public:
    virtual ~LinearLevel() = default;
    virtual int64_t n_clusters() const = 0;
    virtual int64_t n_slots() const = 0;
    virtual int64_t first_slot(int64_t cluster) const = 0;
    int64_t size(int64_t cluster) const { return first_slot(cluster + 1) - first_slot(cluster); }

    // Margins of all slots of the cluster for each visitor, activated.
    virtual void score(int64_t cluster, const MatrixView& documents, std::span<const Visit> visits,
                       Activation activation) const = 0;

    // The features of one slot, counted within its cluster, and their weights; by feature.
    virtual std::vector<std::pair<int32_t, float>> slot_weights(int64_t cluster, int64_t slot) const = 0;
};

// Checks that nothing leads outside an array, whoever wrote the file: `n_buckets` and `n_slots`
// are how many there are. Throws std::invalid_argument.
template <class Key, class Column, class Weight>
std::unique_ptr<LinearLevel> make_linear_level(const ClusterWeightsView<Key, Column, Weight>& weights,
                                               int64_t n_buckets);

}  // namespace polyseme
