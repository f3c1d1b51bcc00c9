// The training rows of one cluster, as the solver reads them.
#pragma once

#include "slot_solver.hpp"
#include "sparse_view.hpp"

namespace polyseme {

// Gathers the rows of one cluster after another. Features are renumbered to those that occur: first
// those that at least two rows have, then the others, which the solver leaves out. Rows whose copy
// would take more memory than weights for all features are read where they are, and keep numbers.
class ClusterRows {
  public:
    explicit ClusterRows(const DocumentsView& documents)
        : documents_(documents), local_feature_(documents.sparse.n_cols, -1),
          local_row_(documents.sparse.n_rows, -1) {}

    // The documents have to stay until others are gathered.
    void gather(std::span<const int32_t> documents, bool in_place);

    const LocalRows& rows() const { return rows_; }

    // Local number to feature: shared ones, then single ones. None where numbers are kept.
    const std::vector<int32_t>& features() const { return features_; }

    // The row of a document; negative where the cluster does not have it.
    int32_t row_of(int32_t document) const { return local_row_[document]; }

    // Calls visit(local feature, value) for the features of a row that no other row has.
    template <class Visit>
    void for_each_single(int32_t row, Visit&& visit) const {
        for (int64_t e = single_starts_[row]; e < single_starts_[row + 1]; ++e)
            visit(rows_.n_features + static_cast<int32_t>(e), single_values_[e]);
    }

  private:
    void release();
    void use_in_place();
    void copy();
    void number_features();
    void add_dense();

    const DocumentsView& documents_;
    std::span<const int32_t> gathered_;  // documents whose rows are at hand
    LocalRows rows_;
    std::vector<int32_t> features_;
    std::vector<int32_t> local_feature_, local_row_;  // -1 where unset
    std::vector<int32_t> n_having_;
    std::vector<int32_t> entry_features_;
    std::vector<float> entry_values_;
    std::vector<int64_t> single_starts_;  // [row], of features that no other row has
    std::vector<float> single_values_;
};

}  // namespace polyseme
