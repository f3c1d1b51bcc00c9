#include <cmath>
#include <cstdint>

#include "check.hpp"
#include "half.hpp"

using polyseme::decode;
using polyseme::encode;
using polyseme::Half;

namespace {

constexpr uint16_t infinity_bits = 0x7c00;

// From the definition of the format: sign, five bits of exponent, ten of fraction.
double value_of(uint16_t bits) {
    const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
    const double magnitude = exponent == 0 ? std::ldexp(fraction, -24)
                                           : std::ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
}

}  // namespace

TEST("every finite half decodes to its value and encodes to itself") {
    for (uint32_t bits = 0; bits < 65536; ++bits) {
        const auto half = static_cast<uint16_t>(bits);
        if ((half & infinity_bits) == infinity_bits) continue;
        const float decoded = decode(Half{half});
        CHECK(decoded == value_of(half));
        CHECK(std::signbit(decoded) == ((half & 0x8000) != 0));
        CHECK(encode(decoded).bits == half);
    }
}

TEST("a number between two halves goes to the nearer, and to the even one from the middle") {
    for (uint16_t low = 0; low < 0x7bff; ++low) {
        const auto high = static_cast<uint16_t>(low + 1);
        const auto middle = static_cast<float>((value_of(low) + value_of(high)) / 2);  // exact
        const uint16_t even = low % 2 == 0 ? low : high;
        for (const float sign : {1.f, -1.f}) {
            const auto sign_bit = static_cast<uint16_t>(sign < 0 ? 0x8000 : 0);
            CHECK(encode(sign * middle).bits == (even | sign_bit));
            CHECK(encode(sign * std::nextafter(middle, 0.f)).bits == (low | sign_bit));
            CHECK(encode(sign * std::nextafter(middle, 1e9f)).bits == (high | sign_bit));
        }
    }
}

TEST("the largest half is the largest") {
    CHECK(decode(encode(polyseme::largest_half)) == polyseme::largest_half);
    CHECK(encode(polyseme::largest_half).bits == 0x7bff);
}
