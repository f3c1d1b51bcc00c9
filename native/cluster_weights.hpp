// The weight vectors of all slots of one level, cluster by cluster, as they lie in a model file.
#pragma once

#include <cstdint>
#include <vector>

namespace polyseme {

// Finds a feature among the rows of a cluster with one cache line for the common answer "absent".
// Each feature has a position in a bitmap of eight bits a row; rows are kept in the order of their
// positions, so the number of set bits before a position tells where to look.
struct RowLookup {
    static uint64_t n_words(uint64_t n_rows) { return (n_rows + 7) / 8; }
    static uint64_t position(int32_t feature, uint64_t n_words) {
        return (uint64_t{static_cast<uint32_t>(feature) * 0x9E3779B1u} * (n_words * 64)) >> 32;
    }
};

// A row of a cluster is a feature with the slots that have a weight for it.
template <class Column, class Weight>
struct ClusterWeightsView {
    int64_t n_clusters = 0;
    const int64_t* slot_starts = nullptr;   // [n_clusters + 1]
    const int64_t* row_starts = nullptr;    // [n_clusters + 1]
    const int64_t* word_starts = nullptr;   // [n_clusters + 1]
    const int64_t* entry_starts = nullptr;  // [n_clusters + 1]
    const uint64_t* words = nullptr;        // the bitmaps
    const uint32_t* words_rows = nullptr;   // rows of the cluster before each word
    const int32_t* features = nullptr;      // [row]
    const uint32_t* entry_ends = nullptr;   // [row], counted from the cluster's first entry
    const Column* columns = nullptr;        // [entry], slot number within the cluster
    const Weight* weights = nullptr;        // [entry]
    const float* bias = nullptr;            // [slot], the bias feature's weight times its value
};

// What training makes; the same arrays, owned.
struct ClusterWeights {
    std::vector<int64_t> row_starts, entry_starts;
    std::vector<uint64_t> words;
    std::vector<uint32_t> words_rows;
    std::vector<int32_t> features;
    std::vector<uint32_t> entry_ends;
    std::vector<uint16_t> columns;
    std::vector<float> weights;
    std::vector<float> bias;
};

}  // namespace polyseme
