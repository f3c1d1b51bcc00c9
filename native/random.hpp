// A small generator whose streams are named by what they serve (a cluster, a node), never by the
// thread that happens to do the work.
#pragma once

#include <cstdint>

namespace polyseme {

class Random {
  public:
    explicit Random(uint64_t seed, uint64_t stream = 0) : state_(seed ^ (stream * 0xD1342543DE82EF95u)) {
        next();
        next();
    }

    // SplitMix64.
    uint64_t next() {
        uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }

    // Uniform in [0, bound).
    uint32_t below(uint32_t bound) { return static_cast<uint32_t>(((next() >> 32) * bound) >> 32); }

  private:
    uint64_t state_;
};

template <class T>
void shuffle(T* values, int64_t n, Random& random) {
    for (int64_t i = n - 1; i > 0; --i) {
        const auto j = random.below(static_cast<uint32_t>(i + 1));
        const T kept = values[i];
        values[i] = values[j];
        values[j] = kept;
    }
}

}  // namespace polyseme
