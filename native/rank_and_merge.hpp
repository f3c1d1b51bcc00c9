// Scores the slots of the reached clusters and merges those of one label.
#pragma once

#include <utility>
#include <vector>

#include "beam_search.hpp"
#include "label_ordering.hpp"
#include "name_words.hpp"

namespace polyseme {

enum class Merge { mean, sum, max };

// The slot table, with the way back from a label to its slots.
struct SlotTable {
    int64_t n_labels = 0;
    std::span<const int32_t> labels;    // [slot]
    std::vector<int32_t> clusters;      // [slot]
    std::vector<int64_t> label_starts;  // [n_labels + 1], into `slots`
    std::vector<int32_t> slots;         // by label, ascending
    bool overlapping = false;
    int32_t most_copies = 1;

    std::span<const int32_t> slots_of(int32_t label) const {
        return std::span(slots).subspan(label_starts[label], label_starts[label + 1] - label_starts[label]);
    }

    SlotTable(const LinearLevel& level, std::span<const int32_t> labels, int64_t n_labels);
};

// What is known of labels, whatever the document.
struct KnownOfLabels {
    std::span<const float> counts;     // [label], the logarithm of one more than its training documents
    const NameWords* names = nullptr;  // if they have any
};

// The logarithm of one more than the number of a document's sparse features.
float length_of(const Document& document);

struct RankScratch {
    FoundRows found;
    std::vector<float> scores;            // of the slots of the scored clusters
    std::vector<int64_t> offsets;         // [cluster], into the scores; below 0 where there are none
    std::vector<int32_t> wanted, scored;  // clusters
    std::vector<int32_t> places;
    std::vector<uint8_t> word_marks;          // see `WordsOfDocument`
    float usual_n_scored = clusters_at_once;  // a guess that saves time and changes no result
};

// What is wanted besides labels and their scores. With this, a label is left out that comes after
// the first `n_sure` and is no candidate for the learned order.
struct FactsWanted {
    int32_t n_sure;  // at least 1
    KnownOfLabels known;
    Facts* facts;  // [k]
};

// The k best labels of a document after merging; returns how many there are.
int32_t rank_top_k(const LinearLevel& ranker, const SlotTable& table, const Document& document,
                   const Beam& beam, Activation activation, Merge merge, int32_t k, RankScratch& scratch,
                   int32_t* labels, float* scores, const FactsWanted* wanted = nullptr);

// All reached labels of a document with their merged scores, in ascending order of labels. If asked
// for, with the facts of each.
void rank_all(const LinearLevel& ranker, const SlotTable& table, const Document& document, const Beam& beam,
              Activation activation, Merge merge, RankScratch& scratch,
              std::vector<std::pair<int32_t, float>>& merged, const KnownOfLabels* known = nullptr,
              std::vector<Facts>* facts = nullptr);

}  // namespace polyseme
