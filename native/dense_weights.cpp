#include "dense_weights.hpp"

#include <algorithm>
#include <cmath>

#include "intrinsics.hpp"
#include "simd.hpp"

#if defined(__x86_64__) && !defined(POLYSEME_NO_CLONES)
#define POLYSEME_X86 1
#define POLYSEME_AVX2 __attribute__((target("avx2,fma")))
#endif

namespace polyseme {

namespace {

// So many products of a byte and sixteen bits, two by two, fit 32 bits.
constexpr int64_t pairs_at_once = 256;

// Groups that are taken together share the reading of the document.
constexpr int64_t groups_together = 4;

typedef float Eight __attribute__((vector_size(32)));

template <int n>
POLYSEME_INLINE void add_float_groups(const uint8_t* weights, const DenseForm& form, const float* values,
                                      float* sums) {
    Eight totals[n] = {};
    for (int64_t column = 0; column < form.n_columns; ++column) {
        for (int g = 0; g < n; ++g) {
            Eight weight;
            std::memcpy(&weight, weights + g * form.group_bytes() + column * 32, sizeof weight);
            totals[g] += weight * values[column];
        }
    }
    for (int g = 0; g < n; ++g)
        for (int lane = 0; lane < 8; ++lane) sums[8 * g + lane] += totals[g][lane];
}

}  // namespace

namespace clones {

POLYSEME_CLONES(void, add_floats,
                (const uint8_t* weights, const DenseForm& form, int64_t n_slots, const DenseValues& document,
                 float* sums),
                (weights, form, n_slots, document, sums)) {
    int64_t left = form.n_groups(n_slots);
    for (; left >= groups_together; left -= groups_together) {
        add_float_groups<groups_together>(weights, form, document.values, sums);
        weights += groups_together * form.group_bytes();
        sums += groups_together * 8;
    }
    for (; left > 0; --left, weights += form.group_bytes(), sums += 8)
        add_float_groups<1>(weights, form, document.values, sums);
}

POLYSEME_CLONES(float, largest_magnitude, (const float* values, size_t n), (values, n)) {
    float largest = 0;
    for (size_t i = 0; i < n; ++i) largest = std::max(largest, std::fabs(values[i]));
    return largest;
}

POLYSEME_CLONES(void, round_all, (const float* values, size_t n, float steps_per_value, int16_t* steps),
                (values, n, steps_per_value, steps)) {
    for (size_t i = 0; i < n; ++i) {
        const float exact = values[i] * steps_per_value;
        steps[i] = static_cast<int16_t>(exact + (exact < 0 ? -0.5f : 0.5f));
    }
}

}  // namespace clones

namespace {

void add_bytes_anywhere(const uint8_t* weights, const DenseForm& form, int64_t n_slots,
                        const DenseValues& document, float* sums) {
    for (int64_t group = 0; group < form.n_groups(n_slots); ++group, sums += 8) {
        float totals[8] = {};
        for (int64_t begin = 0; begin < form.n_pairs(); begin += pairs_at_once) {
            int32_t products[8] = {};
            for (int64_t pair = begin; pair < std::min(form.n_pairs(), begin + pairs_at_once); ++pair) {
                const auto* const bytes = reinterpret_cast<const int8_t*>(weights + pair * 16);
                for (int lane = 0; lane < 8; ++lane)
                    products[lane] += bytes[2 * lane] * document.steps[2 * pair] +
                                      bytes[2 * lane + 1] * document.steps[2 * pair + 1];
            }
            for (int lane = 0; lane < 8; ++lane) totals[lane] += float(products[lane]);
        }
        for (int lane = 0; lane < 8; ++lane) sums[lane] += totals[lane] * document.unit;
        weights += form.group_bytes();
    }
}

#ifdef POLYSEME_X86

template <int n>
POLYSEME_AVX2 inline void add_byte_groups(const uint8_t* weights, const DenseForm& form,
                                          const DenseValues& document, float* sums) {
    const int64_t n_pairs = form.n_pairs(), stride = form.group_bytes();
    const int16_t* const steps = document.steps.data();
    __m256 totals[n];
    for (int g = 0; g < n; ++g) totals[g] = _mm256_setzero_ps();
    for (int64_t begin = 0; begin < n_pairs; begin += pairs_at_once) {
        __m256i products[n];
        for (int g = 0; g < n; ++g) products[g] = _mm256_setzero_si256();
        const int64_t end = std::min(n_pairs, begin + pairs_at_once);
        for (int64_t pair = begin; pair < end; ++pair) {
            int32_t two_steps;
            std::memcpy(&two_steps, steps + 2 * pair, sizeof two_steps);
            const __m256i both = _mm256_set1_epi32(two_steps);
            for (int g = 0; g < n; ++g) {
                const __m128i bytes =
                    _mm_loadu_si128(reinterpret_cast<const __m128i*>(weights + g * stride + pair * 16));
                products[g] =
                    _mm256_add_epi32(products[g], _mm256_madd_epi16(_mm256_cvtepi8_epi16(bytes), both));
            }
        }
        for (int g = 0; g < n; ++g) totals[g] = _mm256_add_ps(totals[g], _mm256_cvtepi32_ps(products[g]));
    }
    const __m256 unit = _mm256_set1_ps(document.unit);
    for (int g = 0; g < n; ++g)
        _mm256_storeu_ps(sums + 8 * g, _mm256_fmadd_ps(totals[g], unit, _mm256_loadu_ps(sums + 8 * g)));
}

POLYSEME_AVX2 void add_bytes_avx2(const uint8_t* weights, const DenseForm& form, int64_t n_slots,
                                  const DenseValues& document, float* sums) {
    int64_t left = form.n_groups(n_slots);
    for (; left >= groups_together; left -= groups_together) {
        add_byte_groups<groups_together>(weights, form, document, sums);
        weights += groups_together * form.group_bytes();
        sums += groups_together * 8;
    }
    for (; left > 0; --left, weights += form.group_bytes(), sums += 8)
        add_byte_groups<1>(weights, form, document, sums);
}

#endif  // POLYSEME_X86

}  // namespace

void DenseValues::set(std::span<const float> all) {
    values = all.data();
    steps.assign((all.size() + 1) / 2 * 2, 0);
    const float largest = clones::largest_magnitude(values, all.size());
    const float steps_per_value = 32767.f / largest;
    unit = std::isfinite(steps_per_value) ? largest / 32767.f : 0.f;
    if (unit > 0) clones::round_all(values, all.size(), steps_per_value, steps.data());
}

std::vector<AddDense> dense_adders(bool byte_weights) {
    if (!byte_weights) return {clones::add_floats};
    std::vector<AddDense> adders{add_bytes_anywhere};
#ifdef POLYSEME_X86
    if (processor.level >= 3) adders.push_back(add_bytes_avx2);
#endif
    return adders;
}

}  // namespace polyseme
