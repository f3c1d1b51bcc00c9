// Spherical k-means of sparse rows: each goes to the nearest of k centroids, sizes are as they fall.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "label_features.hpp"
#include "parallel_for.hpp"
#include "random.hpp"

namespace polyseme {

// An object may run many times and keeps its memory.
class KMeans {
  public:
    std::vector<int32_t> nearest;  // the centroid of each row

    // Starts from `n_centroids` different rows, ends when no row changes its centroid or after
    // `max_iter` rounds. `n_threads` is 0 where this runs on a thread of somebody's loop already.
    void run(std::span<const LabelRow> rows, int64_t n_features, int64_t n_centroids, int max_iter,
             Random random, int n_threads, RunControl& control);

    // Sends `rows` to the centroids that `sample`, of which `nearest` tells, has made; then moves the
    // centroids `n_refinements` times to the middle of their rows.
    void spread(std::span<const LabelRow> sample, std::span<const LabelRow> rows, int64_t n_features,
                int n_refinements, int n_threads, RunControl& control);

  private:
    // What a thread needs: some centroids, and the nearest that it has seen.
    struct Scratch {
        std::vector<float> centroids;  // a row of lanes for each feature
        std::vector<float> scores;
        std::vector<int32_t> nearest;
    };

    void sort_members();
    bool find_nearest(std::span<const LabelRow> members, std::span<const LabelRow> rows, int64_t n_features,
                      int n_threads, RunControl& control);

    int64_t n_centroids_ = 0;
    std::vector<int64_t> starts_;   // of the members of each centroid
    std::vector<int32_t> members_;  // ascending for each
    std::vector<Scratch> scratch_;
};

}  // namespace polyseme
