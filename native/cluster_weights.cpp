#include "cluster_weights.hpp"

#include <cmath>
#include <limits>

namespace polyseme {

namespace {

template <class T>
void append_and_free(std::vector<T>& all, std::vector<T>& part) {
    all.insert(all.end(), part.begin(), part.end());
    std::vector<T>().swap(part);
}

int64_t packed_bytes(const std::vector<TrainedCluster>& clusters, int n_hash_bits, int n_key_bits) {
    int64_t n_bytes = 0;
    for (const auto& cluster : clusters) {
        const auto n_rows = static_cast<int64_t>(cluster.hashes.size());
        n_bytes += n_buckets_stored(n_rows, n_hash_bits, n_key_bits) * int64_t{sizeof(Bucket)};
        n_bytes += n_rows * n_key_bits / 8;
    }
    return n_bytes;
}

}  // namespace

ClusterWeights pack_clusters(std::vector<TrainedCluster>& clusters, const FeatureHash& hash) {
    ClusterWeights packed;
    packed.n_key_bits = packed_bytes(clusters, hash.n_bits(), 8) <= packed_bytes(clusters, hash.n_bits(), 16) ? 8 : 16;
    packed.row_starts.assign(1, 0);
    packed.entry_starts.assign(1, 0);
    size_t n_rows_all = 0, n_entries_all = 0;
    for (const auto& cluster : clusters) {
        n_rows_all += cluster.hashes.size();
        n_entries_all += cluster.weights.size();
    }
    packed.keys.reserve(n_rows_all + read_ahead);
    packed.counts.reserve(n_rows_all + read_ahead);
    packed.columns.reserve(n_entries_all);
    packed.weights.reserve(n_entries_all);

    for (auto& cluster : clusters) {
        const auto n_rows = static_cast<int64_t>(cluster.hashes.size());
        packed.row_starts.push_back(packed.row_starts.back() + n_rows);
        packed.entry_starts.push_back(packed.entry_starts.back() + static_cast<int64_t>(cluster.weights.size()));
        if (n_rows > 0) {
            const int n_rest = hash.n_bits() - bucket_bits(n_rows, hash.n_bits(), packed.n_key_bits);
            const uint32_t n_buckets = 1u << (hash.n_bits() - n_rest);
            uint32_t row = 0, entry = 0;
            for (uint32_t bucket = 0; bucket < n_buckets; ++bucket) {
                packed.buckets.push_back({row, entry});
                for (; row < n_rows && (cluster.hashes[row] >> n_rest) == bucket; ++row) {
                    packed.keys.push_back(static_cast<uint16_t>(cluster.hashes[row] & ((1u << n_rest) - 1)));
                    entry += cluster.counts[row] + 1u;
                }
            }
            packed.buckets.push_back({row, entry});
        }
        std::vector<uint32_t>().swap(cluster.hashes);
        append_and_free(packed.counts, cluster.counts);
        append_and_free(packed.columns, cluster.columns);
        append_and_free(packed.weights, cluster.weights);
        append_and_free(packed.bias, cluster.bias);
    }
    packed.keys.resize(n_rows_all + read_ahead);
    packed.counts.resize(n_rows_all + read_ahead);
    return packed;
}

ByteWeights to_bytes(const std::vector<float>& weights) {
    constexpr int n_magnitudes = 128;
    float least = std::numeric_limits<float>::infinity(), most = 0;
    for (const float weight : weights) {
        least = std::min(least, std::fabs(weight));
        most = std::max(most, std::fabs(weight));
    }
    // Where almost nothing was pruned, the scale ends at a ten-thousandth of the largest weight.
    least = std::max(least, most * 1e-4f);
    const double step = std::log(double(most) / least) / (n_magnitudes - 1);

    ByteWeights result;
    result.values.assign(2 * n_magnitudes, 0);
    if (weights.empty()) return result;
    for (int m = 0; m < n_magnitudes; ++m) {
        const auto magnitude = static_cast<float>(least * std::exp(step * m));
        result.values[m] = magnitude;
        result.values[n_magnitudes + m] = -magnitude;
    }
    result.bytes.reserve(weights.size());
    const float scale = step > 0 ? static_cast<float>(1 / step) : 0;
    for (const float weight : weights) {
        const float place = std::log(std::max(std::fabs(weight), least) / least) * scale;
        const int magnitude = std::min(static_cast<int>(std::lrint(place)), n_magnitudes - 1);
        result.bytes.push_back(static_cast<uint8_t>(magnitude + (weight < 0 ? n_magnitudes : 0)));
    }
    return result;
}

}  // namespace polyseme
