// From margins to scores. Scores along a path of the tree multiply.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "simd.hpp"

namespace polyseme {

enum class Activation { l3_hinge, l2_hinge, sigmoid, none };

// exp(x) for x <= 0, to about 2e-7 relative; without branches, so that loops over it vectorise.
POLYSEME_INLINE float exp_of_nonpositive(float x) {
    x = x < -87.f ? -87.f : x;
    constexpr float round_to_integer = 12582912.f;
    const float n = (x * 1.44269504f + round_to_integer) - round_to_integer;
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * r) * r + r + 1.f;
    return p * std::bit_cast<float>((static_cast<int32_t>(n) + 127) << 23);
}

// Turns the margins of a node's children into scores, given the node's own score.
POLYSEME_INLINE void activate(float* scores, int64_t n, float parent, Activation activation) {
    if (activation == Activation::l3_hinge) {
        for (int64_t j = 0; j < n; ++j) {
            const float short_of_one = scores[j] < 1.f ? 1.f - scores[j] : 0.f;
            scores[j] = parent * exp_of_nonpositive(-short_of_one * short_of_one * short_of_one);
        }
    } else if (activation == Activation::l2_hinge) {
        for (int64_t j = 0; j < n; ++j) {
            const float short_of_one = scores[j] < 1.f ? 1.f - scores[j] : 0.f;
            scores[j] = parent * exp_of_nonpositive(-short_of_one * short_of_one);
        }
    } else if (activation == Activation::sigmoid) {
        for (int64_t j = 0; j < n; ++j) {
            const float e = exp_of_nonpositive(scores[j] < 0.f ? scores[j] : -scores[j]);
            scores[j] = parent * ((scores[j] < 0.f ? e : 1.f) / (1.f + e));
        }
    }
}

}  // namespace polyseme
