#include <algorithm>
#include <cmath>
#include <vector>

#include "beam_search.hpp"
#include "check.hpp"
#include "rank_and_merge.hpp"

using namespace polyseme;

namespace {

// A level whose margins are a table: documents have one feature, the row of the table.
class TableLevel final : public LinearLevel {
  public:
    TableLevel(std::vector<int64_t> starts, std::vector<std::vector<float>> margins)
        : starts_(std::move(starts)), margins_(std::move(margins)) {}
    int64_t n_clusters() const override { return static_cast<int64_t>(starts_.size()) - 1; }
    int64_t n_slots() const override { return starts_.back(); }
    int64_t first_slot(int64_t cluster) const override { return starts_[cluster]; }
    void score(int64_t cluster, const MatrixView& documents, std::span<const Visit> visits,
               Activation activation) const override {
        for (const Visit& visit : visits) {
            const auto& row = margins_[documents.row(visit.document)[0]];
            std::copy(row.begin() + first_slot(cluster), row.begin() + first_slot(cluster + 1), visit.scores);
            activate(visit.scores, size(cluster), visit.score, activation);
        }
    }

  private:
    std::vector<int64_t> starts_;
    std::vector<std::vector<float>> margins_;
};

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

Beams walk(const Documents& documents, int32_t beam_size, std::vector<const LinearLevel*> levels,
           BeamScratch& scratch) {
    Beams beams = Beams::at_root(documents.view.n_rows);
    for (const LinearLevel* level : levels)
        advance_beams(*level, documents.view, beam_size, Activation::none, beams, scratch);
    return beams;
}

}  // namespace

TEST("a beam keeps the best children, the lower of equals first") {
    const Documents documents({0, 1, 0});
    BeamScratch scratch;
    Beams beams = walk(documents, 2, {&upper, &lower}, scratch);
    for (const int i : {0, 2}) {
        CHECK(beams.sizes[i] == 2);
        CHECK(beams.nodes[i * beams.beam_size] == 1 && beams.nodes[i * beams.beam_size + 1] == 2);
    }
    beams = walk(documents, 1, {&upper, &lower}, scratch);
    CHECK(beams.nodes[0] == 1);
    CHECK(beams.nodes[beams.beam_size] == 4);  // 9 and 8 are out of reach below the worse node
    beams = walk(documents, 1000, {&upper, &lower}, scratch);
    for (const int32_t size : beams.sizes) CHECK(size == 5);
}

TEST("blocks of documents walk the same alone and in many threads") {
    std::vector<int32_t> kinds(500);
    for (size_t i = 0; i < kinds.size(); ++i) kinds[i] = static_cast<int32_t>(i * i % 7 % 2);
    const Documents documents(kinds);
    BeamScratch whole_scratch;
    const Beams whole = walk(documents, 2, {&upper, &lower}, whole_scratch);
    std::vector<int32_t> nodes(1000);
    RunControl control;
    parallel_for(10, 4, control, [&](int64_t b, int) {
        thread_local BeamScratch scratch;
        Beams beams = Beams::at_root(50);
        const MatrixView block = rows_of(documents.view, b * 50, (b + 1) * 50);
        for (const LinearLevel* level : {&upper, &lower})
            advance_beams(*level, block, 2, Activation::none, beams, scratch);
        std::copy_n(beams.nodes.begin(), 100, nodes.begin() + b * 100);
    });
    CHECK(std::equal(nodes.begin(), nodes.end(), whole.nodes.begin()));
}

TEST("reached slots of a label merge, negative ones too, and the top k is cut afterwards") {
    const Documents documents({0});
    const SlotTable table(lower, slot_labels, 4);
    CHECK(table.overlapping && table.most_copies == 2);
    BeamScratch beam_scratch;
    RankScratch scratch;
    const Beams beams = walk(documents, 2, {&upper}, beam_scratch);
    score_slots(lower, documents.view, beams, Activation::none, scratch);

    std::vector<std::pair<int32_t, float>> merged;
    int32_t labels[6];
    float scores[6];
    for (const Merge merge : {Merge::mean, Merge::sum, Merge::max}) {
        const float both = merge == Merge::mean ? 0.15f : merge == Merge::sum ? 0.3f : 0.2f;
        merge_all(lower, table, beams, 0, merge, scratch, merged);
        CHECK(merged.size() == 4);
        for (int32_t label = 0; label < 4; ++label) CHECK(merged[label].first == label);
        CHECK(merged[0].second == 0.9f && merged[2].second == 0.9f && merged[3].second == -5.f);
        CHECK(std::fabs(merged[1].second - both) < 1e-6f);
        for (const int32_t k : {1, 2, 3, 6}) {
            CHECK(merge_top_k(lower, table, beams, 0, merge, k, scratch, labels, scores) == std::min(k, 4));
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
        const LinearLevel& ranker = large ? static_cast<const LinearLevel&>(many) : lower;
        const SlotTable table(ranker, large ? many_labels : slot_labels, large ? 500 : 4);
        const Beams beams = walk(documents, 3, {large ? &fan : &upper}, beam_scratch);
        score_slots(ranker, documents.view, beams, Activation::none, scratch);
        int32_t label;
        float score;
        CHECK(merge_top_k(ranker, table, beams, 0, Merge::mean, 1, scratch, &label, &score) == 1);
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
