// Adds rows of a cluster, each times a value, to the sums of the cluster's slots: where prediction
// spends its time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "level_weights.hpp"

namespace polyseme {

// A row of a cluster for which a document has the feature.
struct FoundRow {
    const uint8_t* bytes;
    uint32_t size;
    float value;
};

// Sums are written in whole vectors.
inline int64_t padded(int64_t n_slots) { return (n_slots + 15) / 16 * 16; }

// `lists` are rows whose slots are a list, `bitmaps` the others. `sums` has padded(n_slots) places.
// No value exceeds `largest`, and none is negative, or else it is 0.
using AddRows = void (*)(std::span<const FoundRow> lists, std::span<const FoundRow> bitmaps, int64_t n_slots,
                         float largest, float* sums);

// One for each kind of processor that this one can stand in for; the last is the fastest. They
// differ in rounding only; one takes values as multiples of 1/65535 of the largest.
template <class Column, class Weight>
std::vector<AddRows> row_adders();

}  // namespace polyseme
