// PIFA: a label's features are the sum of the features of its documents, at unit length.
#pragma once

#include <vector>

#include "parallel_for.hpp"
#include "sparse_view.hpp"

namespace polyseme {

// What a tree needs to know of a label: its largest features, from some of its documents.
struct LabelFeatureLimits {
    int64_t max_features = 256;  // sparse ones; dense columns come on top
    int64_t max_documents = 64;  // evenly spread over all of the label's
};

// `factor` times these values has unit length. In no order; empty where there is nothing to go by.
struct LabelRow {
    const int32_t* columns = nullptr;
    const float* values = nullptr;
    int64_t size = 0;
    float factor = 0;
};

// A label with one short document has no entries of its own, its row lies in the document's,
// unless there are dense columns: these are entries like others here.
struct LabelFeatures {
    struct Block {
        std::vector<int32_t> columns;
        std::vector<float> values;
    };
    int64_t n_features = 0;
    std::vector<LabelRow> rows;
    std::vector<Block> blocks;  // entries of several labels side by side
};

// `label_rows` lists the documents of each label. The result refers to the documents' features.
LabelFeatures aggregate_label_features(const DocumentsView& all_features, const PatternView& label_rows,
                                       const LabelFeatureLimits& limits, int n_threads, RunControl& control);

}  // namespace polyseme
