// The arithmetic of slots that are trained side by side, a lane of a vector each.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "simd.hpp"

namespace polyseme::lanes {

// Sums and products run on whole rows of lanes. Comparisons run on eight lanes at a time: that
// many every compiler knows to compare at once, wider ones some take apart.
template <int Lanes>
struct Vectors {
    typedef float Float __attribute__((vector_size(Lanes * 4)));
    typedef int8_t Byte __attribute__((vector_size(Lanes)));
};
typedef Vectors<8>::Float Eight;
typedef Vectors<8>::Byte EightBytes;
typedef int32_t EightInts __attribute__((vector_size(32)));

// Fewer lanes than eight are compared as eight, of which the others are zero.
template <int Lanes>
constexpr int eights_of = Lanes < 8 ? 1 : Lanes / 8;
template <int Lanes>
constexpr int lanes_at_once = Lanes < 8 ? Lanes : 8;

template <int Size>
struct Bytes {
    typedef uint8_t Vector __attribute__((vector_size(Size)));
};

// Whether any bit of a mask is set; folds the vector in halves down to a word.
template <int Size>
POLYSEME_INLINE bool any_byte_set(const typename Bytes<Size>::Vector& mask) {
    if constexpr (Size < 8) {
        uint64_t word = 0;
        std::memcpy(&word, &mask, Size);
        return word != 0;
    } else if constexpr (Size > 16) {
        typename Bytes<Size / 2>::Vector halves[2];
        std::memcpy(halves, &mask, Size);
        return any_byte_set<Size / 2>(halves[0] | halves[1]);
    } else {
        uint64_t words[Size / 8];
        std::memcpy(words, &mask, Size);
        return (words[0] | words[Size / 8 - 1]) != 0;
    }
}

template <class Vector>
POLYSEME_INLINE bool any_set(const Vector& mask) {
    return any_byte_set<sizeof(Vector)>((typename Bytes<sizeof(Vector)>::Vector)mask);
}

template <class Float>
POLYSEME_INLINE Float larger(const Float& a, const Float& b) {
    return a > b ? a : b;
}
template <class Float>
POLYSEME_INLINE Float smaller(const Float& a, const Float& b) {
    return a < b ? a : b;
}

constexpr float infinity = std::numeric_limits<float>::infinity();

// The natural logarithm of positive numbers, good to a few units in the last place: the exponent, and
// a series for what is left, which lies between the root of a half and that of two.
POLYSEME_INLINE Eight log_of(const Eight& x) {
    const EightInts bits = (EightInts)x;
    const EightInts exponent = (bits - 0x3f3504f3) >> 23;
    const Eight rest = (Eight)(bits - (exponent << 23)) - 1.f;
    const Eight s = rest / (rest + 2.f), square = s * s;
    const Eight series = ((square * (2.f / 9) + 2.f / 7) * square + 2.f / 5) * square + 2.f / 3;
    return __builtin_convertvector(exponent, Eight) * 0.69314718f + (s * square * series + s * 2.f);
}

POLYSEME_INLINE Eight magnitude(const Eight& x) { return x < Eight{} ? -x : x; }

// The new duals of one row under the logistic loss, in the lanes that want them: a few Newton steps on
// each one-variable problem, as in Yu, Huang and Lin (2011), until its gradient is below `least`.
POLYSEME_INLINE Eight logistic_duals(const Eight& dual, const Eight& margin, const Eight& squared_norm,
                                     const Eight& cost, const EightInts& wanting, float least) {
    const Eight zero = {};
    // Work with whichever of dual and cost - dual is the smaller, to keep the logarithms exact.
    const EightInts flipped = squared_norm * (cost * 0.5f - dual) + margin < zero;
    const Eight start = flipped ? cost - dual : dual;
    const Eight slope = flipped ? -margin : margin;
    Eight z = start * 2.f > cost ? start * 0.1f : start;
    EightInts moving = wanting;
    for (int step = 0; step < 100; ++step) {
        const Eight gradient = squared_norm * (z - start) + slope + log_of(z / (cost - z));
        moving &= ~(magnitude(gradient) < zero + least);
        if (!any_set(moving)) break;
        const Eight moved = z - gradient / (squared_norm + cost / ((cost - z) * z));
        const Eight inside = moved <= zero ? z * 0.1f : smaller(moved, cost * (1 - 1e-6f));
        z = moving ? inside : z;
    }
    // Rounded to one of the ends, the dual could never leave it again.
    constexpr float epsilon = std::numeric_limits<float>::epsilon();
    const Eight found = flipped ? cost - z : z;
    return smaller(larger(found, cost * (epsilon * 1e-20f)), cost * (1 - epsilon));
}

}  // namespace polyseme::lanes
