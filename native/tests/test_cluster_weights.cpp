#include <algorithm>
#include <cmath>
#include <set>

#include "check.hpp"
#include "cluster_weights.hpp"
#include "linear_level.hpp"
#include "random.hpp"

using namespace polyseme;

TEST("the feature hash is a bijection with an inverse") {
    for (const int64_t n_features : {1, 2, 3, 100, 4096, 100'000}) {
        const FeatureHash hash(n_features);
        std::set<uint32_t> seen;
        for (int32_t f = 0; f < n_features; ++f) {
            CHECK(hash(f) >> hash.n_bits() == 0);
            CHECK(hash.feature(hash(f)) == f);
            seen.insert(hash(f));
        }
        CHECK(static_cast<int64_t>(seen.size()) == n_features);
    }
    const FeatureHash widest((int64_t{1} << 31) - 1);
    CHECK(widest.feature(widest(2'000'000'000)) == 2'000'000'000);
}

TEST("bytes stand for weights to about four percent at worst, sign included") {
    Random random(1);
    std::vector<float> weights;
    for (int i = 0; i < 2000; ++i)
        weights.push_back((i % 2 ? 1.f : -1.f) * std::exp(-6.f * float(random.below(1000)) / 1000));
    const ByteWeights coded = to_bytes(weights);
    for (size_t i = 0; i < weights.size(); ++i)
        CHECK(std::fabs(coded.values[coded.bytes[i]] - weights[i]) <= 0.04f * std::fabs(weights[i]));
    CHECK(to_bytes({}).bytes.empty());
    CHECK(to_bytes({0.25f, 0.25f}).values[to_bytes({0.25f, 0.25f}).bytes[1]] == 0.25f);
}

namespace {

// A cluster in which slot s has weight f + 1 for every feature f with f % n_slots == s.
TrainedCluster cluster_with(const std::vector<int32_t>& features, int32_t n_slots, const FeatureHash& hash) {
    std::vector<std::pair<uint32_t, int32_t>> rows;
    for (const int32_t f : features) rows.emplace_back(hash(f), f);
    std::sort(rows.begin(), rows.end());
    TrainedCluster cluster;
    for (const auto& [hashed, f] : rows) {
        cluster.hashes.push_back(hashed);
        cluster.counts.push_back(0);
        cluster.columns.push_back(static_cast<uint16_t>(f % n_slots));
        cluster.weights.push_back(float(f + 1));
    }
    cluster.bias.assign(n_slots, 0.5f);
    return cluster;
}

template <class Key>
void check_level(const ClusterWeights& packed, const std::vector<std::vector<int32_t>>& features,
                 int64_t n_features) {
    const std::vector<int64_t> slot_starts{0, 3, 6, 9};
    const std::vector<Key> keys(packed.keys.begin(), packed.keys.end());
    ClusterWeightsView<Key, uint16_t, float> view;
    view.n_clusters = 3;
    view.n_features = n_features;
    view.slot_starts = slot_starts.data();
    view.row_starts = packed.row_starts.data();
    view.entry_starts = packed.entry_starts.data();
    view.buckets = packed.buckets.data();
    view.keys = keys.data();
    view.counts = packed.counts.data();
    view.columns = packed.columns.data();
    view.weights = packed.weights.data();
    view.bias = packed.bias.data();
    const auto level = make_linear_level(view, static_cast<int64_t>(packed.buckets.size()));
    for (int64_t c = 0; c < 3; ++c) {
        const std::set<int32_t> known(features[c].begin(), features[c].end());
        for (int32_t f = 0; f < n_features; f += n_features > 5000 ? 97 : 1) {
            const std::vector<int64_t> starts{0, 1};
            const float two = 2;
            MatrixView document;
            document.n_rows = 1;
            document.n_cols = n_features;
            document.starts = starts.data();
            document.columns = &f;
            document.values = &two;
            float scores[3];
            const Visit visit{0, 1.f, scores};
            level->score(c, document, std::span<const Visit>(&visit, 1), Activation::none);
            for (int32_t s = 0; s < 3; ++s)
                CHECK(scores[s] == 0.5f + (known.contains(f) && f % 3 == s ? 2.f * float(f + 1) : 0.f));
        }
        CHECK(level->slot_weights(c, 1).size() ==
              static_cast<size_t>(std::count_if(known.begin(), known.end(), [](int32_t f) { return f % 3 == 1; })));
    }
}

}  // namespace

TEST("a packed level finds exactly the features that it was given, with short keys and long ones") {
    for (const int64_t n_features : {7, 1000, 200'000}) {
        const FeatureHash hash(n_features);
        Random random(2);
        std::vector<std::vector<int32_t>> features(3);
        for (int32_t f = 0; f < n_features; ++f) {
            if (random.below(3) == 0) features[0].push_back(f);
            if (random.below(400) == 0) features[2].push_back(f);
        }
        std::vector<TrainedCluster> clusters;
        for (const auto& some : features) clusters.push_back(cluster_with(some, 3, hash));
        const ClusterWeights packed = pack_clusters(clusters, hash);
        if (packed.n_key_bits == 8) check_level<uint8_t>(packed, features, n_features);
        else check_level<uint16_t>(packed, features, n_features);
    }
}
