#include "row_products.hpp"

#include <algorithm>

#include "simd.hpp"

namespace polyseme {

namespace {

constexpr int64_t pairs_together = 1024;

}  // namespace

namespace clones {

typedef float Eight __attribute__((vector_size(32)));

constexpr int64_t rows_together = 64;
constexpr int64_t eights_together = 8;  // as many sums as stay in registers

struct RowEntries {
    const int32_t* columns;
    const float* values;
    int64_t n_sparse;
    const float* dense;
    int64_t n_dense;
    int64_t first_dense;  // the row of the matrix that the first dense column belongs to
};

template <int n_eights>
POLYSEME_INLINE void add_products(const RowEntries& row, const float* matrix, int64_t width, float* sums) {
    Eight total[n_eights] = {};
    const auto add = [&](int64_t column, float value) POLYSEME_ALWAYS_INLINE {
        const float* from = matrix + column * width;
        const Eight by = {value, value, value, value, value, value, value, value};
        for (int i = 0; i < n_eights; ++i) {
            Eight part;
            std::memcpy(&part, from + 8 * i, sizeof(part));
            total[i] += part * by;
        }
    };
    for (int64_t e = 0; e < row.n_sparse; ++e) add(row.columns[e], row.values[e]);
    for (int64_t c = 0; c < row.n_dense; ++c) add(row.first_dense + c, row.dense[c]);
    std::memcpy(sums, total, sizeof(total));
}

POLYSEME_CLONES(void, multiply_row, (const RowEntries& row, const float* matrix, int64_t width, float* sums),
                (row, matrix, width, sums)) {
    int64_t first = 0;
    for (; first + 8 * eights_together <= width; first += 8 * eights_together)
        add_products<eights_together>(row, matrix + first, width, sums + first);
    for (; first + 8 <= width; first += 8) add_products<1>(row, matrix + first, width, sums + first);
    for (; first < width; ++first) {
        float total = 0;
        for (int64_t e = 0; e < row.n_sparse; ++e)
            total += row.values[e] * matrix[row.columns[e] * width + first];
        for (int64_t c = 0; c < row.n_dense; ++c)
            total += row.dense[c] * matrix[(row.first_dense + c) * width + first];
        sums[first] = total;
    }
}

}  // namespace clones

void multiply_rows(const DocumentsView& documents, const float* matrix, int64_t width, float* products,
                   int n_threads, RunControl& control) {
    const int64_t n_rows = documents.n_rows();
    const int64_t n_blocks = (n_rows + clones::rows_together - 1) / clones::rows_together;
    parallel_for(n_blocks, n_threads, control, [&](int64_t block, int) {
        const int64_t end = std::min(n_rows, (block + 1) * clones::rows_together);
        for (int64_t i = block * clones::rows_together; i < end; ++i) {
            const auto columns = documents.sparse.row(i);
            const clones::RowEntries row{
                columns.data(),      documents.sparse.values + documents.sparse.starts[i],
                std::ssize(columns), documents.dense + i * documents.n_dense,
                documents.n_dense,   documents.sparse.n_cols};
            clones::multiply_row(row, matrix, width, products + i * width);
        }
        control.advance(end - block * clones::rows_together);
    });
}

void multiply_pairs(const MatrixView& a, const MatrixView& b, std::span<const int64_t> rows_a,
                    std::span<const int64_t> rows_b, double* products, int n_threads, RunControl& control) {
    const int64_t n_pairs = std::ssize(rows_a);
    const auto multiply = [&](int64_t first, int64_t end) {
        for (int64_t i = first; i < end; ++i) {
            int64_t at_a = a.starts[rows_a[i]], at_b = b.starts[rows_b[i]];
            const int64_t end_a = a.starts[rows_a[i] + 1], end_b = b.starts[rows_b[i] + 1];
            double sum = 0;
            while (at_a < end_a && at_b < end_b) {
                const int32_t column_a = a.columns[at_a], column_b = b.columns[at_b];
                if (column_a == column_b) sum += static_cast<double>(a.values[at_a]) * b.values[at_b];
                at_a += column_a <= column_b;
                at_b += column_b <= column_a;
            }
            products[i] = sum;
        }
    };
    if (n_pairs <= pairs_together) return multiply(0, n_pairs);  // threads would take longer to start
    parallel_for((n_pairs + pairs_together - 1) / pairs_together, n_threads, control,
                 [&](int64_t block, int) {
                     multiply(block * pairs_together, std::min(n_pairs, (block + 1) * pairs_together));
                 });
}

}  // namespace polyseme
