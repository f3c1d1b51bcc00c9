// The dense part of training rows, for many lanes at once. A few rows are taken together, so that
// the weights are read once for all of them: what one of the rows adds to the weights then reaches
// the next ones through the products of the rows with each other.
#pragma once

#include <cmath>
#include <cstdint>

#include "simd.hpp"

namespace polyseme {

constexpr int dense_rows_together = 4;

template <int Lanes>
struct DenseRows {
    typedef float Eight __attribute__((vector_size(32)));
    typedef float Float __attribute__((vector_size(Lanes * 4)));
    static constexpr int n_eights = Lanes / 8;
    static constexpr int most = dense_rows_together;

    Eight* weights;  // [column][lane]
    int32_t n_columns;

    // What waits to be added to the weights.
    int n_waiting = 0;
    const float* waiting[most];
    Float steps[most];

    DenseRows(float* lane_weights, int32_t columns)
        : weights(reinterpret_cast<Eight*>(lane_weights)), n_columns(columns) {}

    // At most `most` rows may wait.
    POLYSEME_INLINE void wait(const float* row, const Float& step) {
        waiting[n_waiting] = row;
        steps[n_waiting++] = step;
    }
    POLYSEME_INLINE void add(const float* row, const Float& step) {
        wait(row, step);
        if (n_waiting == most) add_waiting();
    }

    POLYSEME_INLINE void add_waiting() {
        if (n_waiting == 4) add_rows<4>();
        else if (n_waiting == 3) add_rows<3>();
        else if (n_waiting == 2) add_rows<2>();
        else if (n_waiting == 1) add_rows<1>();
        n_waiting = 0;
    }

    // The products of the weights with `most` rows, by lane.
    POLYSEME_INLINE void multiply(const float* const* rows, Float* margins) const {
        // Two sums of each where there is room for them: an addition waits for the one before.
        constexpr int n_sums = n_eights == 1 ? 2 : 1;
        Eight sums[n_sums][most][n_eights] = {};
        const float* const from[most] = {rows[0], rows[1], rows[2], rows[3]};
        const auto add_column = [&](int32_t f, Eight(&to)[most][n_eights]) POLYSEME_ALWAYS_INLINE {
            Eight weight[n_eights];
            for (int h = 0; h < n_eights; ++h) weight[h] = weights[int64_t{f} * n_eights + h];
            for (int r = 0; r < most; ++r) {
                const float x = from[r][f];
                const Eight value = {x, x, x, x, x, x, x, x};
                for (int h = 0; h < n_eights; ++h) to[r][h] += weight[h] * value;
            }
        };
        int32_t f = 0;
        for (; f + n_sums <= n_columns; f += n_sums)
            for (int c = 0; c < n_sums; ++c) add_column(f + c, sums[c]);
        for (; f < n_columns; ++f) add_column(f, sums[0]);
        for (int r = 0; r < most; ++r) {
            for (int h = 0; h < n_eights && n_sums == 2; ++h) sums[0][r][h] += sums[n_sums - 1][r][h];
            std::memcpy(margins + r, sums[0][r], sizeof(Float));
        }
    }

  private:
    template <int n>
    POLYSEME_INLINE void add_rows() {
        Eight by[n][n_eights];
        const float* from[n];
        for (int r = 0; r < n; ++r) {
            std::memcpy(by[r], steps + r, sizeof(Float));
            from[r] = waiting[r];
        }
        for (int32_t f = 0; f < n_columns; ++f) {
            Eight weight[n_eights];
            for (int h = 0; h < n_eights; ++h) weight[h] = weights[int64_t{f} * n_eights + h];
            for (int r = 0; r < n; ++r) {
                const float x = from[r][f];
                const Eight value = {x, x, x, x, x, x, x, x};
                for (int h = 0; h < n_eights; ++h) weight[h] += by[r][h] * value;
            }
            for (int h = 0; h < n_eights; ++h) weights[int64_t{f} * n_eights + h] = weight[h];
        }
    }
};

// The products of some rows with each other: of row r with those before it. What overflows counts
// as 0: then one of the two rows is so long that it takes no steps.
struct RowProducts {
    float of[dense_rows_together][dense_rows_together];

    POLYSEME_INLINE RowProducts(const float* const* rows, int32_t n_columns) {
        typedef float Eight __attribute__((vector_size(32)));
        Eight sums[6] = {};
        const float *const a = rows[0], *const b = rows[1], *const c = rows[2], *const d = rows[3];
        int32_t f = 0;
        for (; f + 8 <= n_columns; f += 8) {
            Eight of_a, of_b, of_c, of_d;
            std::memcpy(&of_a, a + f, sizeof(Eight));
            std::memcpy(&of_b, b + f, sizeof(Eight));
            std::memcpy(&of_c, c + f, sizeof(Eight));
            std::memcpy(&of_d, d + f, sizeof(Eight));
            sums[0] += of_a * of_b;
            sums[1] += of_a * of_c;
            sums[2] += of_b * of_c;
            sums[3] += of_a * of_d;
            sums[4] += of_b * of_d;
            sums[5] += of_c * of_d;
        }
        int pair = 0;
        for (int r = 1; r < dense_rows_together; ++r) {
            for (int before = 0; before < r; ++before, ++pair) {
                float sum = 0;
                for (int32_t g = f; g < n_columns; ++g) sum += rows[r][g] * rows[before][g];
                for (int lane = 0; lane < 8; ++lane) sum += sums[pair][lane];
                of[r][before] = std::isfinite(sum) ? sum : 0.f;
            }
        }
    }
};

}  // namespace polyseme
