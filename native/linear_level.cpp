#include "linear_level.hpp"

#include <algorithm>
#include <stdexcept>

namespace polyseme {

namespace {

// One cluster, with all the places computed.
template <class Key, class Column, class Weight>
struct Cluster {
    const Bucket* buckets;
    const Key* keys;
    const Column* counts;
    const Column* columns;
    const Weight* weights;
    const float* values;
    int n_rest_bits;  // of a hash, below those that choose the bucket

    POLYSEME_INLINE float weight(uint32_t entry) const {
        if constexpr (sizeof(Weight) == 1) return values[weights[entry]];
        else return weights[entry];
    }
};

// A feature of the document on its way to its row: first a bucket, then an entry.
struct Candidate {
    uint32_t row, n_rows, entry;
    uint32_t key;
    float value;
};

// The place of `key` among the n rows of a bucket, or n.
template <class Key>
POLYSEME_INLINE uint32_t find_key(const Key* keys, uint32_t n, Key key) {
    constexpr uint32_t step = read_ahead / sizeof(Key);
    typedef Key Keys __attribute__((vector_size(read_ahead)));
    for (uint32_t first = 0; first < n; first += step) {
        Keys some;
        std::memcpy(&some, keys + first, sizeof(some));
        const auto equal = some == key;
        uint64_t halves[2];
        std::memcpy(halves, &equal, sizeof(halves));
        if (halves[0] != 0) return first + std::countr_zero(halves[0]) / (8 * sizeof(Key));
        if (halves[1] != 0) return first + step / 2 + std::countr_zero(halves[1]) / (8 * sizeof(Key));
    }
    return n;
}

// Entries of the first n rows of a bucket.
template <class Column>
POLYSEME_INLINE uint32_t entries_before(const Column* counts, uint32_t n) {
    uint32_t sum = n;
    for (uint32_t r = 0; r < n; ++r) sum += counts[r];
    return sum;
}

template <class Key, class Column, class Weight>
POLYSEME_INLINE void add_margins(const Cluster<Key, Column, Weight>& cluster, const FeatureHash& hash,
                                 std::span<const int32_t> features, std::span<const float> values,
                                 Candidate* candidates, float* scores) {
    // In steps of their own, so that the memory accesses of one step overlap.
    const uint32_t rest = (1u << cluster.n_rest_bits) - 1;
    int64_t n_candidates = 0;
    for (size_t e = 0; e < features.size(); ++e) {
        const uint32_t hashed = hash(features[e]);
        const Bucket* bucket = cluster.buckets + (hashed >> cluster.n_rest_bits);
        candidates[n_candidates] = {bucket[0].row, bucket[1].row - bucket[0].row, bucket[0].entry,
                                    hashed & rest, values[e]};
        n_candidates += bucket[1].row != bucket[0].row;
    }
    int64_t n_found = 0;
    for (int64_t c = 0; c < n_candidates; ++c) {
        const Candidate candidate = candidates[c];
        const uint32_t at = find_key(cluster.keys + candidate.row, candidate.n_rows,
                                     static_cast<Key>(candidate.key));
        candidates[n_found] = candidate;
        candidates[n_found].key = at;
        n_found += at < candidate.n_rows;
    }
    for (int64_t c = 0; c < n_found; ++c) {
        const Candidate& found = candidates[c];
        const Column* counts = cluster.counts + found.row;
        const uint32_t first = found.entry + entries_before(counts, found.key);
        const uint32_t last = first + counts[found.key];
        for (uint32_t e = first; e <= last; ++e)
            scores[cluster.columns[e]] += found.value * cluster.weight(e);
    }
}

template <class Key, class Column, class Weight>
POLYSEME_INLINE void score_visits(const Cluster<Key, Column, Weight>& cluster, const FeatureHash& hash,
                                  const float* bias, int64_t n_slots, const MatrixView& documents,
                                  std::span<const Visit> visits, Activation activation,
                                  std::vector<Candidate>& candidates) {
    for (const Visit& visit : visits) {
        const auto features = documents.row(visit.document);
        if (candidates.size() < features.size() + 1) candidates.resize(features.size() + 1);
        std::copy(bias, bias + n_slots, visit.scores);
        if (cluster.buckets != nullptr)
            add_margins(cluster, hash, features, documents.row_values(visit.document),
                        candidates.data(), visit.scores);
        activate(visit.scores, n_slots, visit.score, activation);
    }
}

// Clones cannot be templates, hence one function for each choice of types.
#define POLYSEME_SCORER(Key, Column, Weight)                                                      \
    POLYSEME_CLONES void score_cluster(const Cluster<Key, Column, Weight>& cluster,               \
                                       const FeatureHash& hash, const float* bias,                \
                                       int64_t n_slots, const MatrixView& documents,              \
                                       std::span<const Visit> visits, Activation activation,      \
                                       std::vector<Candidate>& candidates) {                      \
        score_visits(cluster, hash, bias, n_slots, documents, visits, activation, candidates);    \
    }
#define POLYSEME_FOR_ALL_TYPES(DO)                                                                \
    DO(uint8_t, uint8_t, uint8_t)                                                                 \
    DO(uint8_t, uint8_t, float)                                                                   \
    DO(uint8_t, uint16_t, uint8_t)                                                                \
    DO(uint8_t, uint16_t, float)                                                                  \
    DO(uint16_t, uint8_t, uint8_t)                                                                \
    DO(uint16_t, uint8_t, float)                                                                  \
    DO(uint16_t, uint16_t, uint8_t)                                                               \
    DO(uint16_t, uint16_t, float)
POLYSEME_FOR_ALL_TYPES(POLYSEME_SCORER)

void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

template <class Key, class Column, class Weight>
class TypedLevel final : public LinearLevel {
  public:
    using View = ClusterWeightsView<Key, Column, Weight>;

    TypedLevel(const View& weights, int64_t n_buckets) : view_(weights), hash_(weights.n_features) {
        bucket_starts_.assign(1, 0);
        for (int64_t c = 0; c < view_.n_clusters; ++c)
            bucket_starts_.push_back(bucket_starts_.back() +
                                     n_buckets_stored(n_rows(c), hash_.n_bits(), 8 * sizeof(Key)));
        require(bucket_starts_.back() == n_buckets, "the number of buckets does not fit the rows");
        for (int64_t c = 0; c < view_.n_clusters; ++c) check_cluster(c);
    }

    int64_t n_clusters() const override { return view_.n_clusters; }
    int64_t n_slots() const override { return view_.slot_starts[view_.n_clusters]; }
    int64_t first_slot(int64_t cluster) const override { return view_.slot_starts[cluster]; }

    void score(int64_t c, const MatrixView& documents, std::span<const Visit> visits,
               Activation activation) const override {
        thread_local std::vector<Candidate> candidates;
        score_cluster(cluster(c), hash_, view_.bias + first_slot(c), size(c), documents, visits,
                      activation, candidates);
    }

    std::vector<std::pair<int32_t, float>> slot_weights(int64_t c, int64_t slot) const override {
        std::vector<std::pair<int32_t, float>> found;
        const auto here = cluster(c);
        for_each_row(c, [&](uint32_t hashed, uint32_t first, uint32_t end) {
            for (uint32_t e = first; e < end; ++e)
                if (here.columns[e] == slot) found.emplace_back(hash_.feature(hashed), here.weight(e));
        });
        std::sort(found.begin(), found.end());
        return found;
    }

  private:
    int64_t n_rows(int64_t c) const { return view_.row_starts[c + 1] - view_.row_starts[c]; }

    Cluster<Key, Column, Weight> cluster(int64_t c) const {
        const int n_rest = hash_.n_bits() - bucket_bits(n_rows(c), hash_.n_bits(), 8 * sizeof(Key));
        return {n_rows(c) == 0 ? nullptr : view_.buckets + bucket_starts_[c],
                view_.keys + view_.row_starts[c],
                view_.counts + view_.row_starts[c],
                view_.columns + view_.entry_starts[c],
                view_.weights + view_.entry_starts[c],
                view_.values,
                n_rest};
    }

    // Calls visit(hash, first entry, end of entries) for each row of a cluster.
    template <class F>
    void for_each_row(int64_t c, F&& visit) const {
        if (n_rows(c) == 0) return;
        const auto here = cluster(c);
        const auto n_buckets = static_cast<uint32_t>(bucket_starts_[c + 1] - bucket_starts_[c] - 1);
        for (uint32_t b = 0; b < n_buckets; ++b) {
            uint32_t entry = here.buckets[b].entry;
            for (uint32_t row = here.buckets[b].row; row < here.buckets[b + 1].row; ++row) {
                const uint32_t end = entry + here.counts[row] + 1u;
                visit((b << here.n_rest_bits) | here.keys[row], entry, end);
                entry = end;
            }
        }
    }

    void check_cluster(int64_t c) const {
        const int64_t n_entries = view_.entry_starts[c + 1] - view_.entry_starts[c];
        require(n_rows(c) > 0 || n_entries == 0, "a cluster has entries, but no rows");
        if (n_rows(c) == 0) return;
        const Bucket* buckets = view_.buckets + bucket_starts_[c];
        const int64_t n_buckets = bucket_starts_[c + 1] - bucket_starts_[c] - 1;
        require(buckets[0].row == 0 && buckets[0].entry == 0 && buckets[n_buckets].row == n_rows(c) &&
                    buckets[n_buckets].entry == n_entries, "buckets do not fit a cluster");
        const Column* counts = view_.counts + view_.row_starts[c];
        for (int64_t b = 0; b < n_buckets; ++b) {
            require(buckets[b].row <= buckets[b + 1].row, "buckets are out of order");
            uint64_t end = buckets[b].entry;
            for (uint32_t row = buckets[b].row; row < buckets[b + 1].row; ++row) end += counts[row] + 1u;
            require(end == buckets[b + 1].entry, "counts of entries do not fit their bucket");
        }
        bool in_range = true;
        for_each_row(c, [&](uint32_t hashed, uint32_t, uint32_t) {
            in_range &= hash_.feature(hashed) < view_.n_features && hashed >> hash_.n_bits() == 0;
        });
        require(in_range, "a feature is out of range");
        for (int64_t e = view_.entry_starts[c]; e < view_.entry_starts[c + 1]; ++e)
            in_range &= view_.columns[e] < size(c);
        require(in_range, "a slot number is out of range");
    }

    View view_;
    FeatureHash hash_;
    std::vector<int64_t> bucket_starts_;
};

}  // namespace

template <class Key, class Column, class Weight>
std::unique_ptr<LinearLevel> make_linear_level(const ClusterWeightsView<Key, Column, Weight>& weights,
                                               int64_t n_buckets) {
    return std::make_unique<TypedLevel<Key, Column, Weight>>(weights, n_buckets);
}

#define POLYSEME_LEVEL(Key, Column, Weight)                     \
    template std::unique_ptr<LinearLevel> make_linear_level(    \
        const ClusterWeightsView<Key, Column, Weight>&, int64_t);
POLYSEME_FOR_ALL_TYPES(POLYSEME_LEVEL)

}  // namespace polyseme
