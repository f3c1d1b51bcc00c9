#include "two_means.hpp"

#include <bit>
#include <cmath>

#include "intrinsics.hpp"
#include "simd.hpp"
#if defined(__x86_64__) && !defined(POLYSEME_NO_CLONES)
#define POLYSEME_X86 1
#endif

namespace polyseme {

namespace {

typedef float Lanes __attribute__((vector_size(64)));
constexpr int64_t n_lanes = 16;

POLYSEME_INLINE Lanes load(const float* values) {
    Lanes lanes;
    std::memcpy(&lanes, values, sizeof lanes);
    return lanes;
}

POLYSEME_INLINE float sum_of(const Lanes& lanes) {
    float sums[n_lanes];
    std::memcpy(sums, &lanes, sizeof lanes);
    for (int64_t width = n_lanes / 2; width > 0; width /= 2)
        for (int64_t lane = 0; lane < width; ++lane) sums[lane] += sums[lane + width];
    return sums[0];
}

#ifdef POLYSEME_X86
__attribute__((target("avx512f"))) float gathered_product(const int32_t* columns, const float* values,
                                                          int64_t n, const float* dense) {
    __m512 sums = _mm512_setzero_ps();
    for (int64_t e = 0; e < n; e += n_lanes) {
        const auto present = static_cast<__mmask16>(n - e >= n_lanes ? 0xffff : (1 << (n - e)) - 1);
        const __m512i at = _mm512_maskz_loadu_epi32(present, columns + e);
        const __m512 there = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), present, at, dense, 4);
        sums = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(present, values + e), there, sums);
    }
    return sum_of(Lanes(sums));
}
#endif

// A plain loop, or one that gathers sixteen numbers at once where the processor can.
float product(const int32_t* columns, const float* values, int64_t n, const float* dense) {
#ifdef POLYSEME_X86
    if (processor.level == 4) return gathered_product(columns, values, n, dense);
#endif
    float a = 0, b = 0, c = 0, d = 0;
    int64_t e = 0;
    for (; e + 4 <= n; e += 4) {
        a += values[e] * dense[columns[e]];
        b += values[e + 1] * dense[columns[e + 1]];
        c += values[e + 2] * dense[columns[e + 2]];
        d += values[e + 3] * dense[columns[e + 3]];
    }
    for (; e < n; ++e) a += values[e] * dense[columns[e]];
    return (a + b) + (c + d);
}

float inverse_length(float squared) { return squared > 0 ? 1 / std::sqrt(squared) : 0; }

void add(const LabelRow& row, float factor, std::vector<float>& sum) {
    for (int64_t e = 0; e < row.size; ++e) sum[row.columns[e]] += factor * row.values[e];
}

}  // namespace

namespace clones {

// Left centroid minus right centroid, both of unit length, from the sums of the two sides.
// `n` is a multiple of n_lanes.
POLYSEME_CLONES(void, centroid_difference,
                (const float* left, const float* total, int64_t n, float* difference),
                (left, total, n, difference)) {
    Lanes left_squares{}, right_squares{};
    for (int64_t f = 0; f < n; f += n_lanes) {
        const Lanes on_left = load(left + f), on_right = load(total + f) - on_left;
        left_squares += on_left * on_left;
        right_squares += on_right * on_right;
    }
    const float to_left = inverse_length(sum_of(left_squares));
    const float to_right = inverse_length(sum_of(right_squares));
    for (int64_t f = 0; f < n; f += n_lanes) {
        const Lanes on_left = load(left + f), on_right = load(total + f) - on_left;
        const Lanes result = on_left * to_left - on_right * to_right;
        std::memcpy(difference + f, &result, sizeof result);
    }
}

}  // namespace clones

float dot(const LabelRow& row, const std::vector<float>& dense) {
    return row.factor * product(row.columns, row.values, row.size, dense.data());
}

uint64_t sort_key(float score, int64_t index) {
    const auto bits = std::bit_cast<uint32_t>(score + 0.f);  // no negative zero
    const uint32_t ascending = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return uint64_t(~ascending) << 32 | static_cast<uint32_t>(index);
}

void GatheredRows::gather(int64_t n_rows, const RowOf& row_of, int64_t n_features_before) {
    numbers_.assign(n_features_before, 0);
    for (int64_t i = 0; i < n_rows; ++i) {
        const LabelRow row = row_of(i);
        for (int64_t e = 0; e < row.size; ++e) ++numbers_[row.columns[e]];
    }
    features.clear();
    int64_t n_entries = 0;
    for (int64_t f = 0; f < n_features_before; ++f) {
        if (numbers_[f] >= 2) {
            n_entries += numbers_[f];
            numbers_[f] = static_cast<int32_t>(features.size());
            features.push_back(static_cast<int32_t>(f));
        } else {
            numbers_[f] = -1;
        }
    }
    starts.resize(n_rows + 1);
    columns.resize(n_entries + 1);
    values.resize(n_entries + 1);
    int64_t n = 0;
    for (int64_t i = 0; i < n_rows; ++i) {
        const LabelRow row = row_of(i);
        for (int64_t e = 0; e < row.size; ++e) {
            const int32_t number = numbers_[row.columns[e]];
            columns[n] = number;
            values[n] = row.factor * row.values[e];
            n += number >= 0;  // without a branch, which would be hard to foresee
        }
        starts[i + 1] = n;
    }
    total.assign((features.size() + n_lanes - 1) / n_lanes * n_lanes, 0);
    for (int64_t e = 0; e < n; ++e) total[columns[e]] += values[e];
}

void TwoMeans::run(const GatheredRows& rows, int64_t n_left, int max_iter, Random random,
                   const RunControl& control) {
    const int64_t n = rows.n_rows();
    left_.assign(rows.total.size(), 0);
    difference.assign(rows.total.size(), 0);
    on_left.assign(n, 0);
    keys_.resize(n);
    const auto first = random.below(static_cast<uint32_t>(n));
    const auto other = random.below(static_cast<uint32_t>(n - 1));
    add(rows.row(first), 1, difference);
    add(rows.row(other < first ? other : other + 1), -1, difference);

    for (int iteration = 0; iteration < max_iter; ++iteration) {
        control.throw_if_stopped();
        for (int64_t i = 0; i < n; ++i) keys_[i] = sort_key(dot(rows.row(i), difference), i);
        std::nth_element(keys_.begin(), keys_.begin() + n_left, keys_.end());
        int64_t n_moved = 0;
        for (int64_t j = 0; j < n; ++j) {
            const auto i = static_cast<uint32_t>(keys_[j]);
            const bool to_left = j < n_left;
            if (bool(on_left[i]) == to_left) continue;
            add(rows.row(i), to_left ? 1.f : -1.f, left_);
            on_left[i] = to_left;
            ++n_moved;
        }
        if (n_moved == 0) break;
        clones::centroid_difference(left_.data(), rows.total.data(), std::ssize(left_), difference.data());
    }
}

}  // namespace polyseme
