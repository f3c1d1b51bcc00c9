// PIFA: a label's features are the normalised sum of the features of its documents.
#pragma once

#include <vector>

#include "parallel_for.hpp"
#include "sparse_view.hpp"

namespace polyseme {

struct SparseRows {
    std::vector<int64_t> starts{0};
    std::vector<int32_t> columns;
    std::vector<float> values;
};

// `label_rows` lists the documents of each label. Rows come out sorted by feature.
SparseRows aggregate_label_features(const MatrixView& features, const PatternView& label_rows,
                                    int n_threads, RunControl& control);

}  // namespace polyseme
