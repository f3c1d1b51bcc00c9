// Finds the best labels of a document, or all that get so much, and misses none.
//
// Scores multiply on the way down, so that nothing below a node exceeds it. Nodes are opened best
// first, until those that are left cannot matter. Where a label has several slots, what it may yet
// get is bounded by the lowest nodes known above the slots that are missing.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "rank_and_merge.hpp"

namespace polyseme {

// A tree with its slots, and the way back up. Looks at the others, which have to live on.
struct SearchTree {
    std::span<const LinearLevel* const> levels;
    const LinearLevel* ranker;
    const SlotTable* table;
    Activation activation;                      // one that multiplies
    std::vector<std::vector<int32_t>> parents;  // [level][node just below that level]

    SearchTree(std::span<const LinearLevel* const> levels, const LinearLevel& ranker, const SlotTable& table,
               Activation activation);
    int32_t n_levels() const { return static_cast<int32_t>(levels.size()); }
};

// What a label has to get: the same for all, or each its own.
struct Thresholds {
    float of_all = 0;
    std::span<const float> of_labels;          // [label], or none
    std::vector<std::vector<float>> least_in;  // [depth][node], where labels have their own
    float of(int32_t label) const { return of_labels.empty() ? of_all : of_labels[label]; }
    // The least score with which a node may lead to a label that gets enough.
    float of_node(int32_t depth, int32_t node) const {
        return of_labels.empty() ? of_slots : least_in[depth][node];
    }

    Thresholds(const SearchTree& tree, Merge merge, float of_all);
    Thresholds(const SearchTree& tree, Merge merge, std::span<const float> of_labels);

  private:
    float of_slots = 0;
};

// A node and its score; the root has depth 0, and clusters are as deep as there are levels.
struct ScoredNode {
    float score;
    int32_t depth, node;
};

// Lives on from document to document: between them, nothing in it is marked.
struct SearchScratch {
    FoundRows found;
    std::vector<ScoredNode> queue, opened;
    std::vector<int32_t> together;                // nodes that are opened together
    std::vector<float> scores;                    // of the children of a node
    std::vector<float> slot_scores;               // cluster after cluster, as they were opened
    std::vector<std::vector<float>> node_scores;  // [depth][node], below 0 where not known
    std::vector<int64_t> offsets;                 // [cluster], into slot_scores, or -1
    std::vector<float> gained;                    // [label], by its known slots, or below 0
    std::vector<int32_t> seen, chosen;            // labels
};

// The k best labels of a document, ties to the lower label; returns how many there are.
int32_t search_top_k(const SearchTree& tree, const Document& document, Merge merge, int32_t k,
                     SearchScratch& scratch, int32_t* labels, float* scores);

// All labels of a document that reach their thresholds, with their scores, in ascending order.
void search_above(const SearchTree& tree, const Document& document, Merge merge, const Thresholds& thresholds,
                  SearchScratch& scratch, std::vector<std::pair<int32_t, float>>& result);

}  // namespace polyseme
