#include "cluster_rows.hpp"

#include <algorithm>
#include <limits>

namespace polyseme {

void ClusterRows::gather(std::span<const int32_t> documents, bool in_place) {
    release();
    gathered_ = documents;
    for (size_t i = 0; i < documents.size(); ++i) local_row_[documents[i]] = static_cast<int32_t>(i);
    rows_.rows.clear();
    single_starts_.assign(1, 0);
    single_values_.clear();
    if (in_place) use_in_place();
    else copy();
    add_dense();
    // Finite, so that a dual of 0 has no effect however large the features are.
    for (float& sum : rows_.feature_sums)
        sum = std::clamp(sum, std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max());
}

void ClusterRows::release() {
    for (const int32_t document : gathered_) local_row_[document] = -1;
    for (const int32_t feature : features_) local_feature_[feature] = -1;
}

void ClusterRows::use_in_place() {
    features_.clear();
    rows_.features = documents_.sparse.columns;
    rows_.values = documents_.sparse.values;
    rows_.n_features = static_cast<int32_t>(documents_.sparse.n_cols);
    rows_.feature_sums.assign(rows_.n_features, 0);
    for (const int32_t document : gathered_) {
        const int64_t begin = documents_.sparse.starts[document],
                      end = documents_.sparse.starts[document + 1];
        float squares = 0;
        for (int64_t e = begin; e < end; ++e) {
            rows_.feature_sums[rows_.features[e]] += rows_.values[e];
            squares += rows_.values[e] * rows_.values[e];
        }
        rows_.rows.push_back({begin, end, squares, 0});
        single_starts_.push_back(0);
    }
}

void ClusterRows::add_dense() {
    rows_.n_dense = static_cast<int32_t>(documents_.n_dense);
    rows_.dense.clear();
    rows_.feature_sums.resize(rows_.n_weights(), 0);
    for (size_t i = 0; i < gathered_.size() && rows_.n_dense > 0; ++i) {
        rows_.dense.push_back(documents_.dense_row(gathered_[i]).data());
        rows_.rows[i].squared_norm +=
            add_dense_row(rows_.dense[i], rows_.n_dense, rows_.feature_sums.data() + rows_.n_features);
    }
}

void ClusterRows::copy() {
    number_features();
    entry_features_.clear();
    entry_values_.clear();
    int64_t n_entries = 0;
    for (const int32_t document : gathered_) n_entries += std::ssize(documents_.sparse.row(document));
    entry_features_.reserve(n_entries);
    entry_values_.reserve(n_entries);
    rows_.feature_sums.assign(rows_.n_features, 0);
    for (const int32_t document : gathered_) {
        const auto columns = documents_.sparse.row(document);
        const auto values = documents_.sparse.row_values(document);
        const int64_t begin = std::ssize(entry_features_);
        float shared_squares = 0, own_squares = 0;
        for (size_t e = 0; e < columns.size(); ++e) {
            const int32_t local = local_feature_[columns[e]];
            if (local < rows_.n_features) {
                entry_features_.push_back(local);
                entry_values_.push_back(values[e]);
                rows_.feature_sums[local] += values[e];
                shared_squares += values[e] * values[e];
            } else {
                single_values_.push_back(values[e]);
                own_squares += values[e] * values[e];
            }
        }
        rows_.rows.push_back({begin, std::ssize(entry_features_), shared_squares,
                              std::min(own_squares, std::numeric_limits<float>::max())});
        single_starts_.push_back(std::ssize(single_values_));
    }
    rows_.features = entry_features_.data();
    rows_.values = entry_values_.data();
}

// First those that at least two rows have, then the others in the order of the rows.
void ClusterRows::number_features() {
    features_.clear();
    n_having_.clear();
    for (const int32_t document : gathered_) {
        for (const int32_t feature : documents_.sparse.row(document)) {
            int32_t& local = local_feature_[feature];
            if (local < 0) {
                local = static_cast<int32_t>(features_.size());
                features_.push_back(feature);
                n_having_.push_back(0);
            }
            ++n_having_[local];
        }
    }
    std::vector<int32_t> single;
    int32_t n_shared = 0;
    for (size_t f = 0; f < features_.size(); ++f) {
        if (n_having_[f] > 1) features_[n_shared++] = features_[f];
        else single.push_back(features_[f]);
    }
    std::copy(single.begin(), single.end(), features_.begin() + n_shared);
    for (size_t f = 0; f < features_.size(); ++f) local_feature_[features_[f]] = static_cast<int32_t>(f);
    rows_.n_features = n_shared;
}

}  // namespace polyseme
