#include <algorithm>
#include <vector>

#include "check.hpp"
#include "levels.hpp"
#include "random.hpp"
#include "uniform_cost_search.hpp"

using namespace polyseme;
using polyseme::tests::TableLevel;

namespace {

constexpr int n_features = 4;
constexpr float half = 0.5f;

std::vector<std::vector<float>> random_table(Random& random, int64_t n_slots) {
    std::vector<std::vector<float>> table(n_features, std::vector<float>(n_slots));
    for (auto& row : table)
        for (float& weight : row) weight = static_cast<float>(int(random.below(61)) - 30) / 10;
    return table;
}

// Three levels of two children each, and eight clusters of three slots.
struct Problem {
    TableLevel top, middle, bottom, ranker;
    std::vector<const LinearLevel*> levels;
    std::vector<int32_t> slot_labels;
    SlotTable table;
    SearchTree tree;
    std::vector<int32_t> features{0, 1, 2, 3};
    std::vector<float> values{0.5f, 0.25f, 1.f, 0.75f};
    Document document{features, values};

    Problem(Random random, int32_t n_labels, Activation activation)
        : top({0, 2}, random_table(random, 2)), middle({0, 2, 4}, random_table(random, 4)),
          bottom({0, 2, 4, 6, 8}, random_table(random, 8)),
          ranker({0, 3, 6, 9, 12, 15, 18, 21, 24}, random_table(random, 24)),
          levels{top.level.get(), middle.level.get(), bottom.level.get()}, slot_labels(labels(n_labels)),
          table(*ranker.level, slot_labels, n_labels), tree(levels, *ranker.level, table, activation) {}

    // Different ones in a cluster; with 24 labels, each is in one.
    static std::vector<int32_t> labels(int32_t n_labels) {
        std::vector<int32_t> labels;
        for (int32_t slot = 0; slot < 24; ++slot) labels.push_back(slot % n_labels);
        for (int cluster = 0; cluster < 8; ++cluster)
            std::sort(labels.begin() + cluster * 3, labels.begin() + cluster * 3 + 3);
        return labels;
    }

    std::vector<std::pair<int32_t, float>> everything(Merge merge) const {
        BeamScratch beam;
        RankScratch scratch;
        std::vector<std::pair<int32_t, float>> all;
        rank_all(*ranker.level, table, document, walk(levels, document, 100, tree.activation, beam),
                 tree.activation, merge, scratch, all);
        return all;
    }
};

template <class F>
void for_many_problems(F&& check) {
    SearchScratch scratch;  // one for all, as in a thread
    for (uint64_t seed = 0; seed < 60; ++seed)
        for (const int32_t n_labels : {24, 10, 7})
            for (const Activation activation :
                 {Activation::l3_hinge, Activation::l2_hinge, Activation::sigmoid})
                for (const Merge merge : {Merge::sum, Merge::mean, Merge::max})
                    check(Problem(Random(seed, 0), n_labels, activation), merge, scratch);
}

}  // namespace

TEST("the exact search finds what scoring everything finds, to the last bit") {
    for_many_problems([](const Problem& problem, Merge merge, SearchScratch& scratch) {
        auto all = problem.everything(merge);
        std::stable_sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.second > b.second; });
        for (const int32_t k : {1, 3, 30}) {
            std::vector<int32_t> labels(k);
            std::vector<float> scores(k);
            const int32_t found =
                search_top_k(problem.tree, problem.document, merge, k, scratch, labels.data(), scores.data());
            CHECK(found == std::min<int32_t>(k, static_cast<int32_t>(all.size())));
            for (int32_t i = 0; i < found; ++i)
                CHECK(labels[i] == all[i].first && scores[i] == all[i].second);
        }
    });
}

TEST("all labels that reach their thresholds are found, and no other") {
    for_many_problems([](const Problem& problem, Merge merge, SearchScratch& scratch) {
        const auto all = problem.everything(merge);
        std::vector<float> own(problem.table.n_labels);
        for (size_t label = 0; label < own.size(); ++label) own[label] = half / float(1 + label % 5);
        std::vector<std::pair<int32_t, float>> found;
        const auto agrees = [&](const Thresholds& thresholds) {
            search_above(problem.tree, problem.document, merge, thresholds, scratch, found);
            auto expected = all;
            std::erase_if(expected, [&](auto& one) { return one.second < thresholds.of(one.first); });
            return found == expected;
        };
        for (const float every : {1e-3f, 0.1f, half, 1.f})
            CHECK(agrees(Thresholds(problem.tree, merge, every)));
        CHECK(agrees(Thresholds(problem.tree, merge, own)));
    });
}

TEST("nothing is left marked in the scratch") {
    SearchScratch scratch;
    const Problem problem(Random(1, 0), 7, Activation::sigmoid);
    int32_t labels[2];
    float scores[2];
    search_top_k(problem.tree, problem.document, Merge::sum, 2, scratch, labels, scores);
    for (const auto& level : scratch.node_scores)
        CHECK(std::all_of(level.begin(), level.end(), [](float score) { return score < 0; }));
    CHECK(std::all_of(scratch.offsets.begin(), scratch.offsets.end(), [](int64_t at) { return at < 0; }));
    CHECK(std::all_of(scratch.gained.begin(), scratch.gained.end(), [](float gained) { return gained < 0; }));
}
