// Non-owning views of sparse matrices. One form only: 64-bit row starts, 32-bit column numbers.
// polyseme/inputs brings every SciPy matrix into it, so that each kernel is compiled once.
#pragma once

#include <cstdint>
#include <span>

namespace polyseme {

// Which columns are stored in each row; for label matrices and lists of training rows.
struct PatternView {
    int64_t n_rows = 0;
    int64_t n_cols = 0;
    const int64_t* starts = nullptr;   // n_rows + 1
    const int32_t* columns = nullptr;  // sorted within a row, no duplicates

    std::span<const int32_t> row(int64_t i) const {
        return {columns + starts[i], static_cast<size_t>(starts[i + 1] - starts[i])};
    }
    int64_t n_stored() const { return starts[n_rows]; }
};

struct MatrixView : PatternView {
    const float* values = nullptr;

    std::span<const float> row_values(int64_t i) const {
        return {values + starts[i], static_cast<size_t>(starts[i + 1] - starts[i])};
    }
};

// Documents as kernels see them: sparse columns first, then those of a dense block, if there is one.
struct DocumentsView {
    MatrixView sparse;
    const float* dense = nullptr;  // [n_rows][n_dense]
    int64_t n_dense = 0;

    int64_t n_rows() const { return sparse.n_rows; }
    int64_t n_features() const { return sparse.n_cols + n_dense; }
    std::span<const float> dense_row(int64_t i) const {
        return {dense + i * n_dense, static_cast<size_t>(n_dense)};
    }
};

}  // namespace polyseme
