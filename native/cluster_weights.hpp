// The weight vectors of all slots of one level, cluster by cluster, as they lie in a model file.
//
// A *row* of a cluster is a feature with the slots that have a weight for it; each such slot is an
// *entry*. Features are hashed by a bijection. The high bits of a hash choose a bucket of the
// cluster, the low bits are the row's key within it, so that a row costs a key, a count and its
// share of a bucket: about three bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace polyseme {

// Numbers the features anew, spread evenly over [0, 2^n_bits).
class FeatureHash {
  public:
    explicit FeatureHash(int64_t n_features)
        : n_bits_(std::max(1, static_cast<int>(std::bit_width(static_cast<uint64_t>(n_features - 1))))) {
        // Newton's iteration doubles the number of right bits of the inverse.
        for (int i = 0; i < 5; ++i) inverse_ *= 2 - multiplier * inverse_;
    }
    int n_bits() const { return n_bits_; }
    // The top bits of a product depend on all bits below them.
    uint32_t operator()(int32_t feature) const {
        return (static_cast<uint32_t>(feature) * multiplier) & mask();
    }
    int32_t feature(uint32_t hash) const { return static_cast<int32_t>((hash * inverse_) & mask()); }

  private:
    static constexpr uint32_t multiplier = 0x9E3779B1u;
    uint32_t mask() const { return n_bits_ == 32 ? ~0u : (1u << n_bits_) - 1; }
    int n_bits_;
    uint32_t inverse_ = 1;
};

struct Bucket {
    uint32_t row;    // its first row, counted from the cluster's first
    uint32_t entry;  // and that row's first entry, likewise
};

// Six to twelve rows a bucket, and enough buckets that the rest of a hash fits into a key.
inline int bucket_bits(int64_t n_rows, int n_hash_bits, int n_key_bits) {
    const int wanted = std::bit_width(static_cast<uint64_t>(n_rows / 12));
    return std::min(n_hash_bits, std::max(wanted, n_hash_bits - n_key_bits));
}

// Buckets of a cluster, with one more behind them for the end of the last.
inline int64_t n_buckets_stored(int64_t n_rows, int n_hash_bits, int n_key_bits) {
    return n_rows == 0 ? 0 : (int64_t{1} << bucket_bits(n_rows, n_hash_bits, n_key_bits)) + 1;
}

// Keys and counts are read sixteen bytes at a time, so both have room behind their end.
constexpr int64_t read_ahead = 16;

template <class Key, class Column, class Weight>
struct ClusterWeightsView {
    int64_t n_clusters = 0;
    int64_t n_features = 0;
    const int64_t* slot_starts = nullptr;   // [n_clusters + 1]
    const int64_t* row_starts = nullptr;    // [n_clusters + 1]
    const int64_t* entry_starts = nullptr;  // [n_clusters + 1]
    const Bucket* buckets = nullptr;        // n_buckets_stored for each cluster
    const Key* keys = nullptr;              // [row], ascending within a bucket
    const Column* counts = nullptr;         // [row], entries less one
    const Column* columns = nullptr;        // [entry], slot number within the cluster
    const Weight* weights = nullptr;        // [entry], a weight, or a byte that stands for one
    const float* values = nullptr;          // [256], what the bytes stand for
    const float* bias = nullptr;            // [slot], the bias feature's weight times its value
};

// A cluster as training leaves it: rows in the order of their hashes.
struct TrainedCluster {
    std::vector<uint32_t> hashes;   // [row]
    std::vector<uint16_t> counts;   // [row], entries less one
    std::vector<uint16_t> columns;  // [entry]
    std::vector<float> weights;     // [entry]
    std::vector<float> bias;        // [slot]
};

// All clusters together, keys in eight or sixteen bits, whichever takes less room.
struct ClusterWeights {
    std::vector<int64_t> row_starts, entry_starts;
    std::vector<Bucket> buckets;
    int n_key_bits = 8;
    std::vector<uint16_t> keys;     // with read_ahead more
    std::vector<uint16_t> counts;   // with read_ahead more
    std::vector<uint16_t> columns;
    std::vector<float> weights;
    std::vector<float> bias;
};

// Empties `clusters` as it goes.
ClusterWeights pack_clusters(std::vector<TrainedCluster>& clusters, const FeatureHash& hash);

// Weights as bytes: a sign and a magnitude on a logarithmic scale, good to about one percent.
struct ByteWeights {
    std::vector<uint8_t> bytes;
    std::vector<float> values;  // [256]
};
ByteWeights to_bytes(const std::vector<float>& weights);

}  // namespace polyseme
