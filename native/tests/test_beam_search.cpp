#include <algorithm>
#include <cmath>
#include <vector>

#include "beam_search.hpp"
#include "check.hpp"
#include "levels.hpp"
#include "parallel_for.hpp"
#include "random.hpp"
#include "rank_and_merge.hpp"

using namespace polyseme;
using polyseme::tests::TableLevel;

namespace {

// Document i has the feature kinds[i].
struct Documents {
    std::vector<int64_t> starts{0};
    std::vector<int32_t> columns;
    std::vector<float> values;
    MatrixView view;

    explicit Documents(const std::vector<int32_t>& kinds) : columns(kinds), values(kinds.size(), 1.f) {
        for (size_t i = 0; i < kinds.size(); ++i) starts.push_back(static_cast<int64_t>(i) + 1);
        view.n_rows = static_cast<int64_t>(kinds.size());
        view.n_cols = 2;
        view.starts = starts.data();
        view.columns = columns.data();
        view.values = values.data();
    }
};

const TableLevel upper({0, 2}, {{0.5f, 0.25f}, {-1.f, 3.f}});
const TableLevel lower({0, 2, 5}, {{0.1f, 0.9f, 0.9f, 0.2f, -5.f}, {9.f, 8.f, 1.f, 1.f, 2.f}});
// Two clusters; the labels of their slots are 1, 2 and 0, 1, 3.
const std::vector<int32_t> slot_labels{1, 2, 0, 1, 3};

Beam walk_one(const Documents& documents, int64_t i, int32_t beam_size,
              const std::vector<const LinearLevel*>& levels, BeamScratch& scratch,
              Activation activation = Activation::none) {
    return walk(levels, document_of(documents.view, i), beam_size, activation, scratch);
}

}  // namespace

TEST("a beam keeps the best children, the lower of equals first") {
    const Documents documents({0, 1, 0});
    BeamScratch scratch;
    for (const int i : {0, 2}) {
        const Beam beam = walk_one(documents, i, 2, {upper.level.get(), lower.level.get()}, scratch);
        CHECK(beam.size() == 2 && beam.nodes[0] == 1 && beam.nodes[1] == 2);
    }
    const std::vector<const LinearLevel*> levels{upper.level.get(), lower.level.get()};
    CHECK(walk_one(documents, 0, 1, levels, scratch).nodes[0] == 1);
    CHECK(walk_one(documents, 1, 1, levels, scratch).nodes[0] == 4);  // 9 and 8 are below the worse node
    for (const int i : {0, 1, 2}) CHECK(walk_one(documents, i, 1000, levels, scratch).size() == 5);
    const Beam both = walk_one(documents, 1, 2, levels, scratch);
    CHECK(both.nodes[0] == 0 && both.nodes[1] == 1);  // without an activation, a child may exceed its parent
    const std::vector<int32_t> one_each{0, 1, 2, 3, 4};
    const SlotTable table(*lower.level, one_each, 5);
    RankScratch rank_scratch;
    int32_t labels[2];
    float scores[2];
    CHECK(rank_top_k(*lower.level, table, document_of(documents.view, 1),
                     walk_one(documents, 1, 2, {upper.level.get()}, scratch), Activation::none, Merge::max, 2,
                     rank_scratch, labels, scores) == 2);
    CHECK(labels[0] == 0 && labels[1] == 1);
}

TEST("a node that is as good as the worst so far is still looked at, for a lower number") {
    // The better node's second child ties with the only child of the other one, which comes before it.
    const TableLevel top({0, 2}, {{0.5f, 2.f}}), bottom({0, 1, 3}, {{2.f, 2.f, 0.5f}});
    const Documents documents({0});
    BeamScratch scratch;
    const Beam deep =
        walk_one(documents, 0, 2, {top.level.get(), bottom.level.get()}, scratch, Activation::l3_hinge);
    CHECK(deep.nodes[0] == 1 && deep.nodes[1] == 0);
    const Beam beam = walk_one(documents, 0, 2, {top.level.get()}, scratch, Activation::l3_hinge);
    CHECK(beam.nodes[0] == 1);
    const std::vector<int32_t> one_each{0, 1, 2};
    const SlotTable table(*bottom.level, one_each, 3);
    RankScratch rank_scratch;
    int32_t labels[2];
    float scores[2];
    CHECK(rank_top_k(*bottom.level, table, document_of(documents.view, 0), beam, Activation::l3_hinge,
                     Merge::max, 2, rank_scratch, labels, scores) == 2);
    CHECK(labels[0] == 1 && labels[1] == 0);
}

TEST("a label counts once though its slots are equal, and by the slots that this document has reached") {
    const TableLevel top({0, 2}, {{2.f, 1.f}}), bottom({0, 1, 2}, {{0.25f, 0.25f}});
    const std::vector<int32_t> the_same{0, 0};
    const SlotTable table(*bottom.level, the_same, 1);
    const Documents documents({0});
    BeamScratch beam_scratch;
    RankScratch scratch;
    for (const Merge merge : {Merge::mean, Merge::sum}) {
        for (const int32_t n_reached : {2, 1}) {
            const Beam beam = walk_one(documents, 0, n_reached, {top.level.get()}, beam_scratch);
            std::vector<std::pair<int32_t, float>> all;
            rank_all(*bottom.level, table, document_of(documents.view, 0), beam, Activation::none, merge,
                     scratch, all);
            CHECK(all.size() == 1);
            CHECK(all[0].second == (merge == Merge::mean ? 0.25f : 0.25f * float(n_reached)));
            int32_t label[2];
            float score[2];
            CHECK(rank_top_k(*bottom.level, table, document_of(documents.view, 0), beam, Activation::none,
                             merge, 2, scratch, label, score) == 1);
        }
    }
}

TEST("documents walk the same alone and in many threads") {
    std::vector<int32_t> kinds(500);
    for (size_t i = 0; i < kinds.size(); ++i) kinds[i] = static_cast<int32_t>(i * i % 7 % 2);
    const Documents documents(kinds);
    const std::vector<const LinearLevel*> levels{upper.level.get(), lower.level.get()};
    std::vector<Beam> beams(500);
    RunControl control;
    parallel_for(500, 4, control, [&](int64_t i, int) {
        thread_local BeamScratch scratch;
        beams[i] = walk_one(documents, i, 2, levels, scratch);
    });
    BeamScratch scratch;
    for (int64_t i = 0; i < 500; ++i)
        CHECK(beams[i].nodes == walk_one(documents, i, 2, levels, scratch).nodes);
}

TEST("what cannot matter is not scored, and nothing is lost by that") {
    // A wide tree of random margins; compared with a beam and a ranking that look at everything.
    Random random(4);
    const int64_t n_nodes = 40, n_children = 9;
    std::vector<std::vector<float>> first(1, std::vector<float>(n_nodes)),
        second(1, std::vector<float>(n_nodes * n_children));
    for (float& margin : first[0]) margin = float(random.below(3000)) / 1000 - 1.5f;
    for (float& margin : second[0]) margin = float(random.below(3000)) / 1000 - 1.5f;
    std::vector<int64_t> starts(1, 0);
    for (int64_t c = 0; c < n_nodes; ++c) starts.push_back(starts.back() + n_children);
    const TableLevel top({0, n_nodes}, first), bottom(starts, second);
    std::vector<int32_t> labels(n_nodes * n_children);
    for (size_t j = 0; j < labels.size(); ++j) labels[j] = static_cast<int32_t>(j);
    const SlotTable table(*bottom.level, labels, n_nodes * n_children);
    const Documents documents({0});
    for (const Activation activation : {Activation::l3_hinge, Activation::sigmoid}) {
        std::vector<float> all = first[0], scored;
        activate(all.data(), n_nodes, 1.f, activation);
        for (int64_t c = 0; c < n_nodes; ++c) {
            std::vector<float> some(second[0].begin() + starts[c], second[0].begin() + starts[c + 1]);
            activate(some.data(), n_children, all[c], activation);
            scored.insert(scored.end(), some.begin(), some.end());
        }
        std::sort(scored.rbegin(), scored.rend());
        for (const int32_t k : {1, 5, 30}) {
            BeamScratch scratch;
            const Beam beam = walk_one(documents, 0, n_nodes, {top.level.get()}, scratch, activation);
            RankScratch rank_scratch;
            std::vector<int32_t> best(k);
            std::vector<float> scores(k);
            CHECK(rank_top_k(*bottom.level, table, document_of(documents.view, 0), beam, activation,
                             Merge::sum, k, rank_scratch, best.data(), scores.data()) == k);
            const Beam deep =
                walk_one(documents, 0, k, {top.level.get(), bottom.level.get()}, scratch, activation);
            if (k == 30) CHECK(deep.size() == 30);
            for (int32_t j = 0; j < k; ++j) CHECK(std::fabs(scores[j] - scored[j]) < 1e-6f);
        }
    }
}

TEST("labels with several slots come out as if every cluster had been scored") {
    Random random(11);
    const Documents documents({0});
    const Document document = document_of(documents.view, 0);
    RankScratch scratch;  // one for all, as in use: it guesses from one document to the next
    for (int32_t round = 0; round < 300; ++round) {
        const auto n_clusters = static_cast<int64_t>(1 + random.below(14));
        const auto n_labels = static_cast<int64_t>(20 + random.below(30));
        const float lowest = float(random.below(4)) - 3;  // from all nearly alike to a few that stand out
        const auto margin = [&] { return lowest + float(random.below(1000)) / 1000 * (1.2f - lowest); };
        std::vector<int64_t> starts(1, 0);
        std::vector<int32_t> labels;
        std::vector<std::vector<float>> nodes(1), slots(1);
        for (int64_t cluster = 0; cluster < n_clusters; ++cluster) {
            nodes[0].push_back(margin());
            for (int32_t label = 0; label < n_labels; ++label)
                if (random.below(4) == 0) labels.push_back(label), slots[0].push_back(margin());
            starts.push_back(static_cast<int64_t>(labels.size()));
        }
        const TableLevel top({0, n_clusters}, nodes), bottom(starts, slots);
        const SlotTable table(*bottom.level, labels, n_labels);
        for (const Activation activation : {Activation::l3_hinge, Activation::sigmoid, Activation::none}) {
            for (const Merge merge : {Merge::mean, Merge::sum, Merge::max}) {
                BeamScratch beam_scratch;
                const Beam beam = walk_one(documents, 0, static_cast<int32_t>(n_clusters), {top.level.get()},
                                           beam_scratch, activation);
                std::vector<std::pair<int32_t, float>> all;
                rank_all(*bottom.level, table, document, beam, activation, merge, scratch, all);
                std::stable_sort(all.begin(), all.end(),
                                 [](auto& a, auto& b) { return a.second > b.second; });
                for (const size_t k : {1, 3, 10}) {
                    std::vector<std::pair<int32_t, float>> best(std::min(k, all.size()));
                    std::vector<int32_t> best_labels(k);
                    std::vector<float> scores(k);
                    CHECK(rank_top_k(*bottom.level, table, document, beam, activation, merge,
                                     static_cast<int32_t>(k), scratch, best_labels.data(),
                                     scores.data()) == static_cast<int32_t>(best.size()));
                    for (size_t j = 0; j < best.size(); ++j) best[j] = {best_labels[j], scores[j]};
                    CHECK(std::equal(best.begin(), best.end(), all.begin()));
                }
            }
        }
    }
}

TEST("reached slots of a label merge, negative ones too, and the top k is cut afterwards") {
    const Documents documents({0});
    const Document document = document_of(documents.view, 0);
    const SlotTable table(*lower.level, slot_labels, 4);
    CHECK(table.overlapping && table.most_copies == 2);
    BeamScratch beam_scratch;
    RankScratch scratch;
    const Beam beam = walk_one(documents, 0, 2, {upper.level.get()}, beam_scratch);

    std::vector<std::pair<int32_t, float>> merged;
    int32_t labels[6];
    float scores[6];
    for (const Merge merge : {Merge::mean, Merge::sum, Merge::max}) {
        const float both = merge == Merge::mean ? 0.15f : merge == Merge::sum ? 0.3f : 0.2f;
        rank_all(*lower.level, table, document, beam, Activation::none, merge, scratch, merged);
        CHECK(merged.size() == 4);
        for (int32_t label = 0; label < 4; ++label) CHECK(merged[label].first == label);
        CHECK(merged[0].second == 0.9f && merged[2].second == 0.9f && merged[3].second == -5.f);
        CHECK(std::fabs(merged[1].second - both) < 1e-6f);
        for (const int32_t k : {1, 2, 3, 6}) {
            CHECK(rank_top_k(*lower.level, table, document, beam, Activation::none, merge, k, scratch, labels,
                             scores) == std::min(k, 4));
            const int32_t expected[] = {0, 2, 1, 3};
            for (int32_t j = 0; j < std::min(k, 4); ++j) CHECK(labels[j] == expected[j]);
        }
    }
}

TEST("one scratch serves models of different sizes") {
    BeamScratch beam_scratch;
    RankScratch scratch;
    std::vector<int64_t> starts(1001);
    std::vector<int32_t> many_labels(1000);
    for (int32_t j = 0; j <= 1000; ++j) starts[j] = j;
    for (int32_t j = 0; j < 1000; ++j) many_labels[j] = j / 2;
    std::vector<float> margins(1000);
    for (int32_t j = 0; j < 1000; ++j) margins[j] = float(j);
    const TableLevel fan({0, 1000}, {margins}), many(starts, {margins});
    const Documents documents({0});
    for (const bool large : {false, true, false}) {
        const LinearLevel& ranker = large ? *many.level : *lower.level;
        const SlotTable table(ranker, large ? many_labels : slot_labels, large ? 500 : 4);
        const Beam beam =
            walk_one(documents, 0, 3, {large ? fan.level.get() : upper.level.get()}, beam_scratch);
        int32_t label;
        float score;
        CHECK(rank_top_k(ranker, table, document_of(documents.view, 0), beam, Activation::none, Merge::mean,
                         1, scratch, &label, &score) == 1);
        CHECK(label == (large ? 499 : 0));
        CHECK(score == (large ? 998.5f : 0.9f));
    }
}

TEST("activations are close to their formulas") {
    for (float margin = -40; margin <= 40; margin += 0.01f) {
        const double short_of_one = std::max(0., 1. - margin);
        float hinge = margin, sigmoid = margin, none = margin;
        activate(&hinge, 1, 0.5f, Activation::l3_hinge);
        activate(&sigmoid, 1, 0.5f, Activation::sigmoid);
        activate(&none, 1, 0.5f, Activation::none);
        CHECK(std::fabs(hinge - 0.5 * std::exp(-std::pow(short_of_one, 3))) <= 3e-5 * hinge + 1e-37);
        CHECK(std::fabs(sigmoid - 0.5 / (1 + std::exp(-double(margin)))) <= 1e-6 * sigmoid);
        CHECK(none == margin);
    }
}
