#include <algorithm>
#include <utility>
#include <vector>

#include "check.hpp"
#include "random.hpp"
#include "top_k.hpp"

using polyseme::Random;
using polyseme::TopK;

TEST("the k best of a stream are those of a sort, lower ids first among equals") {
    Random random(1);
    for (int round = 0; round < 500; ++round) {
        const auto n = static_cast<int32_t>(random.below(30)), k = static_cast<int32_t>(1 + random.below(8));
        std::vector<std::pair<float, int32_t>> all;  // negated score, id
        for (int32_t id = 0; id < n; ++id) all.push_back({float(random.below(6)) - 3, id});
        polyseme::shuffle(all.data(), n, random);

        std::vector<int32_t> ids(k, -1);
        std::vector<float> scores(k);
        TopK best(ids.data(), scores.data(), k);
        for (const auto& [negated, id] : all) best.offer(id, -negated);
        std::sort(all.begin(), all.end());
        CHECK(best.size() == std::min(n, k));
        CHECK(best.full() == (n >= k));
        for (int32_t j = 0; j < best.size(); ++j) {
            CHECK(ids[j] == all[j].second);
            CHECK(scores[j] == -all[j].first);
        }
    }
}

TEST("a stream may be continued where it was left") {
    int32_t ids[3];
    float scores[3];
    TopK first(ids, scores, 3);
    first.offer(5, 1.f);
    first.offer(6, 3.f);
    TopK second(ids, scores, 3, first.size());
    CHECK(second.threshold() < -1e30f);
    second.offer(7, 2.f);
    CHECK(second.threshold() == 1.f);
    second.offer(4, 1.f);
    CHECK(ids[0] == 6 && ids[1] == 7 && ids[2] == 4);
}
