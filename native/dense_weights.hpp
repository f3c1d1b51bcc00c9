// The weights of dense columns: every slot has one for every column, so only they are stored.
//
// The slots of a cluster lie in groups of eight, the last one padded with zeros. A group is, for
// float weights, [column][slot]; for bytes [pair of columns][slot][column of the pair], so that
// one instruction multiplies two columns of eight slots and adds them up.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace polyseme {

struct DenseForm {
    int64_t n_columns = 0;
    bool byte_weights = false;

    static int64_t n_groups(int64_t n_slots) { return (n_slots + 7) / 8; }
    int64_t n_pairs() const { return (n_columns + 1) / 2; }
    int64_t group_bytes() const { return byte_weights ? n_pairs() * 16 : n_columns * 32; }
    int64_t cluster_bytes(int64_t n_slots) const { return n_groups(n_slots) * group_bytes(); }
    // Where the weight of a slot and a column lies among the bytes of the cluster.
    int64_t place(int64_t slot, int64_t column) const {
        const int64_t begin = slot / 8 * group_bytes(), lane = slot % 8;
        return begin + (byte_weights ? column / 2 * 16 + lane * 2 + column % 2 : (column * 8 + lane) * 4);
    }
};

// The dense columns of a document, also as whole multiples of 1/32767 of the largest.
struct DenseValues {
    const float* values = nullptr;
    std::vector<int16_t> steps;  // padded to pairs
    float unit = 0;              // what a step is worth

    void set(std::span<const float> values);
};

// Adds the products of a document with all slots of a cluster to `sums`, which has place for whole
// groups. For bytes, the sums count in steps of the slots.
using AddDense = void (*)(const uint8_t* weights, const DenseForm& form, int64_t n_slots,
                          const DenseValues& document, float* sums);

// One for each kind of processor that this one can stand in for; the last is the fastest.
std::vector<AddDense> dense_adders(bool byte_weights);

}  // namespace polyseme
