// Scores the slots of the reached clusters and merges those of one label.
#pragma once

#include <memory>
#include <vector>

#include "beam_search.hpp"

namespace polyseme {

enum class Merge { mean, sum, max };

// The slot table, with the way back from a label to its slots.
struct SlotTable {
    int64_t n_labels = 0;
    std::span<const int32_t> labels;     // [slot]
    std::vector<int32_t> clusters;       // [slot]
    std::vector<int64_t> label_starts;   // [n_labels + 1], into `slots`
    std::vector<int32_t> slots;          // by label, ascending
    bool overlapping = false;
    int32_t most_copies = 1;

    SlotTable(const LinearLevel& level, std::span<const int32_t> labels, int64_t n_labels);
};

struct RankScratch {
    VisitPlan plan;
    std::vector<Visit> visits;
    std::vector<float> scores;
    std::vector<int64_t> offsets;       // [document * beam_size + rank], into scores
    std::vector<int64_t> reached;       // [cluster], offset of this document's scores or -1
};

// Scores of all slots of all clusters in the beams, into scratch.scores at scratch.offsets.
void score_slots(const LinearLevel& ranker, const MatrixView& documents, const Beams& beams,
                 Activation activation, RankScratch& scratch);

// The k best labels of one document of the block after merging; returns how many there are.
int32_t merge_top_k(const LinearLevel& ranker, const SlotTable& table, const Beams& beams,
                    int64_t document, Merge merge, int32_t k, RankScratch& scratch,
                    int32_t* labels, float* scores);

// All reached labels of one document with their merged scores, in ascending order of labels.
void merge_all(const LinearLevel& ranker, const SlotTable& table, const Beams& beams,
               int64_t document, Merge merge, RankScratch& scratch,
               std::vector<std::pair<int32_t, float>>& merged);

}  // namespace polyseme
