#include <algorithm>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "random.hpp"
#include "sense_split.hpp"

using namespace polyseme;

namespace {

// Similarities of documents of some kinds: high within a kind, low across.
std::vector<float> similarities_of(const std::vector<int>& kinds, float within, float across, float noise,
                                   uint64_t seed) {
    const auto n = std::ssize(kinds);
    Random random(seed);
    std::vector<float> found(n * n, 1.f);
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < i; ++j) {
            const float off = noise * (float(random.below(2000)) / 1000 - 1);
            found[i * n + j] = found[j * n + i] = (kinds[i] == kinds[j] ? within : across) + off;
        }
    }
    return found;
}

bool is_the_same(const std::vector<int8_t>& parts, const std::vector<int>& kinds) {
    for (size_t i = 0; i < parts.size(); ++i)
        for (size_t j = 0; j < i; ++j)
            if ((parts[i] == parts[j]) != (kinds[i] == kinds[j])) return false;
    return parts.size() == kinds.size();
}

}  // namespace

TEST("documents of two to five kinds are divided by kind") {
    SenseSplitter splitter;  // one for all, as in a thread
    for (int n_kinds = 2; n_kinds <= 5; ++n_kinds) {
        for (uint64_t seed = 0; seed < 10; ++seed) {
            std::vector<int> kinds;
            for (int i = 0; i < 12 * n_kinds; ++i) kinds.push_back(i % n_kinds);
            const auto similarities = similarities_of(kinds, 0.5f, 0.05f, 0.03f, seed);
            const auto& found = splitter.split(similarities.data(), std::ssize(kinds), 0, Random(seed));
            CHECK(is_the_same(found[n_kinds - least_parts].part_of, kinds));
            CHECK(found[n_kinds - least_parts].alikeness < 0.2f);
        }
    }
}

TEST("every part is there, has three documents at least, and alikeness is a number") {
    SenseSplitter splitter;
    Random random(1);
    for (int round = 0; round < 200; ++round) {
        const auto n = static_cast<int64_t>(2 + random.below(70));
        std::vector<int> kinds(n);
        for (int& kind : kinds) kind = static_cast<int>(random.below(1 + round % 7));
        const auto similarities = similarities_of(kinds, 0.3f, 0.f, 0.3f, round);
        const auto& found = splitter.split(similarities.data(), n, 0, Random(round));
        for (int m = least_parts; m <= most_parts; ++m) {
            const auto& partition = found[m - least_parts];
            if (partition.part_of.empty()) continue;
            CHECK(std::ssize(partition.part_of) == n);
            CHECK(std::isfinite(partition.alikeness) && std::isfinite(partition.cost));
            std::vector<int> sizes(m, 0);
            for (const int8_t part : partition.part_of) {
                CHECK(part >= 0 && part < m);
                ++sizes[part];
            }
            CHECK(*std::min_element(sizes.begin(), sizes.end()) >= 3);
        }
    }
}

TEST("too few documents are not divided, whatever was divided before") {
    SenseSplitter splitter;
    const std::vector<int> many{0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 0, 1};
    const auto first = similarities_of(many, 0.5f, 0.f, 0.01f, 0);
    CHECK(!splitter.split(first.data(), 12, 0, Random(0))[0].part_of.empty());
    for (int64_t n = 2; n < 6; ++n) {
        const auto few = similarities_of(std::vector<int>(n, 0), 0.5f, 0.f, 0.01f, 0);
        for (const auto& partition : splitter.split(few.data(), n, 0, Random(0)))
            CHECK(partition.part_of.empty());
    }
}

TEST("documents that are all alike, or have nothing in common, are no trouble") {
    SenseSplitter splitter;
    for (const float similarity : {1.f, 0.f, -0.01f}) {
        for (const int64_t n : {2, 6, 17, 60}) {
            const auto all = similarities_of(std::vector<int>(n, 0), similarity, similarity, 0.f, 0);
            for (const auto& partition : splitter.split(all.data(), n, 0, Random(3)))
                CHECK(partition.part_of.empty() || std::isfinite(partition.alikeness));
        }
        std::vector<float> nothing(36, 0.f);  // not even with themselves
        for (const auto& partition : splitter.split(nothing.data(), 6, 0, Random(3)))
            CHECK(partition.part_of.empty() || std::isfinite(partition.alikeness));
    }
}
