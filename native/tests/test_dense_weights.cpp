#include <cmath>
#include <cstring>

#include "check.hpp"
#include "dense_weights.hpp"
#include "random.hpp"

using namespace polyseme;

namespace {

// A cluster with random weights, and what a document gets from it.
struct DenseCluster {
    DenseForm form;
    int64_t n_slots;
    std::vector<uint8_t> bytes;
    std::vector<float> values;
    std::vector<double> expected;

    DenseCluster(int64_t n_columns, int64_t slots, bool byte_weights, bool extreme = false)
        : form{n_columns, byte_weights}, n_slots(slots), bytes(form.cluster_bytes(slots), 0),
          expected(slots, 0) {
        Random random(n_columns * 100 + slots);
        for (int64_t column = 0; column < n_columns; ++column)
            values.push_back(extreme ? -1.f : float(random.below(2001)) / 1000 - 1);
        for (int64_t slot = 0; slot < slots; ++slot) {
            for (int64_t column = 0; column < n_columns; ++column) {
                const auto step = static_cast<int8_t>(extreme ? -127 : int(random.below(255)) - 127);
                const float weight = step;
                uint8_t* const at = bytes.data() + form.place(slot, column);
                if (byte_weights) std::memcpy(at, &step, 1);
                else std::memcpy(at, &weight, 4);
                expected[slot] += double(weight) * values[column];
            }
        }
    }

    bool is_right(AddDense add) const {
        std::vector<float> sums(form.n_groups(n_slots) * 8, 1.f);
        DenseValues document;
        document.set(values);
        add(bytes.data(), form, n_slots, document, sums.data());
        for (int64_t slot = 0; slot < n_slots; ++slot)
            if (std::fabs(sums[slot] - 1 - expected[slot]) > 127 * 2e-5 * (double(form.n_columns) + 10))
                return false;
        for (size_t slot = n_slots; slot < sums.size(); ++slot)
            if (sums[slot] != 1) return false;
        return true;
    }
};

}  // namespace

TEST("products of dense columns agree on every processor") {
    for (const bool byte_weights : {false, true})
        for (const AddDense add : dense_adders(byte_weights))
            for (const int64_t n_columns : {1, 2, 3, 384, 511, 512, 513, 1001})
                for (const int64_t n_slots : {1, 7, 8, 9, 31, 33, 100})
                    CHECK(DenseCluster(n_columns, n_slots, byte_weights).is_right(add));
}

TEST("the largest products of many dense columns do not overflow") {
    for (const bool byte_weights : {false, true})
        for (const AddDense add : dense_adders(byte_weights))
            CHECK(DenseCluster(5000, 9, byte_weights, true).is_right(add));
}

TEST("dense values that are all zero or tiny give nothing") {
    DenseCluster cluster(5, 3, true);
    for (const float value : {0.f, 1e-42f}) {
        std::vector<float> values(5, value), sums(8, 0);
        DenseValues document;
        document.set(values);
        for (const AddDense add : dense_adders(true))
            add(cluster.bytes.data(), cluster.form, 3, document, sums.data());
        for (const float sum : sums) CHECK(std::fabs(sum) < 1e-30f);
    }
}
