// Documents times a dense matrix: each document becomes a short vector.
#pragma once

#include <cstdint>

#include "parallel_for.hpp"
#include "sparse_view.hpp"

namespace polyseme {

// `matrix` is [n_features][width], `products` is [n_rows][width]. A row is summed in the order of its
// entries by whichever thread takes it.
void multiply_rows(const DocumentsView& documents, const float* matrix, int64_t width, float* products,
                   int n_threads, RunControl& control);

}  // namespace polyseme
