// Products of sparse rows: with a dense matrix, so that a document becomes a short vector, or with each
// other.
#pragma once

#include <cstdint>

#include "parallel_for.hpp"
#include "sparse_view.hpp"

namespace polyseme {

// `matrix` is [n_features][width], `products` is [n_rows][width]. A row is summed in the order of its
// entries by whichever thread takes it.
void multiply_rows(const DocumentsView& documents, const float* matrix, int64_t width, float* products,
                   int n_threads, RunControl& control);

// The product of row rows_a[i] of one matrix with row rows_b[i] of another, for each i.
void multiply_pairs(const MatrixView& a, const MatrixView& b, std::span<const int64_t> rows_a,
                    std::span<const int64_t> rows_b, double* products, int n_threads, RunControl& control);

}  // namespace polyseme
