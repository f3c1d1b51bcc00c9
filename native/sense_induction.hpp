// The senses of labels: their documents are told apart by text and by the other labels that they have.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel_for.hpp"
#include "sense_split.hpp"
#include "sparse_view.hpp"

namespace polyseme {

struct SenseProblem {
    const float* documents = nullptr;  // [n_documents][width], of unit length
    const float* labels = nullptr;     // [n_labels][width], longer where they say more
    int64_t width = 0;
    PatternView labels_of;     // documents x labels
    PatternView documents_of;  // labels x documents
};

constexpr int64_t enough_with_labels = 10;  // documents, for the other labels to tell senses apart

// How several groups divide; a group is a label, or some labels taken for one.
struct GroupSplits {
    static constexpr int n_counts = most_parts - least_parts + 1;

    std::vector<int64_t> starts;     // of the documents of each group that were looked at
    std::vector<int32_t> documents;  // ascending within a group
    std::vector<int8_t> parts;       // [document][count of parts - 2]; -1 where there is no partition
    std::vector<float> alikeness;    // [group][count of parts - 2]; infinite where there is none
    std::vector<uint8_t> by_labels;  // whether the other labels of documents had a say
    std::vector<float> similarity;   // [group][7] of the partition in two, see `TwoParts`
};

// Means over pairs of documents, by text and by their other labels.
struct TwoParts {
    float text_across, labels_across;
    float text_within[2], labels_within[2];
    float evenness;  // 1 for halves
};

// Splits groups of labels. Random streams are named by the first label of a group and its size.
GroupSplits split_groups(const SenseProblem& problem, const PatternView& groups, int64_t max_documents,
                         uint64_t seed, int n_threads, RunControl& control);

// For every document of some labels the part that it belongs to, and how near it is to its middle.
struct PartsOfDocuments {
    std::vector<int8_t> parts;  // side by side for the documents of each label
    std::vector<float> nearness;
};

// `looked_at` lists the documents of each label whose `parts` are known, in the same order.
PartsOfDocuments assign_documents(const SenseProblem& problem, const int32_t* labels, int64_t n_labels,
                                  const PatternView& looked_at, const int8_t* parts, int n_threads,
                                  RunControl& control);

}  // namespace polyseme
