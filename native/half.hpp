// Sixteen-bit floats as plain integers: decoded by shifts, so no processor feature is needed.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "simd.hpp"

namespace polyseme {

struct Half {
    uint16_t bits;
};
constexpr float largest_half = 65504.f;

POLYSEME_INLINE float decode(float weight) { return weight; }

// Moves sign, exponent and fraction to their places in a 32-bit float; the factor repairs the
// difference of the exponents' biases, also for subnormal numbers. Never called on infinities.
POLYSEME_INLINE float decode(Half half) {
    const int32_t spread = static_cast<int32_t>(static_cast<int16_t>(half.bits)) << 13;
    return std::bit_cast<float>(spread & static_cast<int32_t>(0x8fffe000u)) * 0x1p112f;
}

// Rounds to nearest, ties to even. |value| must not exceed largest_half.
inline Half encode(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
    const float magnitude = std::fabs(value);
    if (magnitude < 0x1p-14f)  // subnormal: a multiple of 2^-24
        return {static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(magnitude * 0x1p24f)))};
    const uint32_t shifted = std::bit_cast<uint32_t>(magnitude) - (112u << 23);
    const uint32_t rounded = (shifted + 0xfffu + ((shifted >> 13) & 1u)) >> 13;
    return {static_cast<uint16_t>(sign | rounded)};
}

}  // namespace polyseme
