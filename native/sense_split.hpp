// How the documents of a label divide: partitions into two to five parts that have little to do with
// each other.
//
// Only similarities of documents are looked at, so that it costs the same for any number of parts.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "random.hpp"

namespace polyseme {

constexpr int least_parts = 2;
constexpr int most_parts = 5;

// The best partition into so many parts.
struct SensePartition {
    std::vector<int8_t> part_of;  // of each document; empty where there is no such partition
    float alikeness = 0;          // of the two parts that are most alike: 1 for the same, 0 for strangers
    float cost = 0;
};

using SensePartitions = std::array<SensePartition, most_parts - least_parts + 1>;

class SenseSplitter {
  public:
    // `similarities` is [n][n], symmetric, with ones on the diagonal. The documents of a part must be
    // `least_within` similar at least, on average. Partition k is at [k - least_parts].
    const SensePartitions& split(const float* similarities, int64_t n, double least_within, Random random);

  private:
    void k_means(int m, Random& random);
    void k_means_once(int m, Random& random);
    void scatter(int m);
    void move(int64_t document, int to);
    void sum_between();
    void merge_down();
    void merge(int a, int b);
    void refine();
    void offer();
    double within(int part) const;
    float alike(int a, int b) const;
    int n_parts() const { return static_cast<int>(sizes_.size()); }

    const float* similarities_ = nullptr;
    int64_t n_ = 0;
    int64_t least_size_ = 0;
    double least_within_ = 0;
    SensePartitions best_;

    // The partition at hand, and for each part how similar documents are to all of it.
    std::vector<int8_t> part_of_;
    std::vector<int64_t> sizes_;
    std::vector<std::vector<float>> to_part_;   // [part][document]
    std::vector<std::vector<double>> between_;  // [part][part], sums over all pairs

    std::vector<int8_t> next_, chosen_;
    std::vector<float> nearest_;
    std::vector<double> lengths_;
};

}  // namespace polyseme
