#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "check.hpp"
#include "levels.hpp"
#include "random.hpp"

using namespace polyseme;
using polyseme::tests::TableLevel;

namespace {

// Some features are everywhere, some in one cluster, some nowhere: records of every kind.
std::vector<std::vector<float>> random_table(int64_t n_features, int64_t n_slots, uint64_t seed) {
    Random random(seed);
    std::vector<std::vector<float>> table(n_features, std::vector<float>(n_slots, 0.f));
    for (int64_t f = 0; f < n_features; ++f) {
        const uint32_t one_in[] = {1, 2, 5, 40, 300, 1u << 30};
        for (float& weight : table[f])
            if (random.below(one_in[f % 6]) == 0) weight = (float(random.below(2000)) - 999.5f) / 500;
    }
    return table;
}

std::vector<int64_t> clusters_of(int64_t n_clusters, int64_t n_slots_each) {
    std::vector<int64_t> starts(1, 0);
    // Sizes differ, and one cluster has no slots.
    for (int64_t c = 0; c < n_clusters; ++c)
        starts.push_back(starts.back() + (c == 1 ? 0 : n_slots_each + c % 3));
    return starts;
}

void check_scores(int64_t n_clusters, int64_t n_slots_each, bool byte_weights) {
    const auto starts = clusters_of(n_clusters, n_slots_each);
    const auto table = random_table(30, starts.back(), 5);
    const TableLevel made(starts, table, byte_weights);
    const LinearLevel& level = *made.level;
    const std::vector<int32_t> features{0, 1, 2, 3, 4, 5, 6, 9, 13, 20, 27, 28};
    std::vector<float> values(features.size());
    for (size_t e = 0; e < values.size(); ++e) values[e] = 0.25f * float(e + 1);

    std::vector<int32_t> asked;
    for (int64_t c = n_clusters - 1; c >= 0; c -= 1 + n_clusters / 7)
        asked.push_back(static_cast<int32_t>(c));
    FoundRows found;
    level.find({features, values}, asked, found);
    for (size_t rank = 0; rank < asked.size(); ++rank) {
        const int32_t c = asked[rank];
        std::vector<float> scores(padded(level.size(c)) + 1);
        level.score(c, found, rank, 1.f, Activation::none, scores.data());
        for (int64_t j = 0; j < level.size(c); ++j) {
            double expected = 0, room = 1e-4;
            for (size_t e = 0; e < features.size(); ++e) {
                expected += double(values[e]) * table[features[e]][starts[c] + j];
                if (byte_weights) room += values[e] * 2.0 / 127 / 2;  // half a step of the largest weight
            }
            CHECK(std::fabs(scores[j] - expected) <= room);
        }
    }
}

}  // namespace

TEST("a level gives the margins of the table that it was made from, whatever its shape") {
    for (const bool byte_weights : {false, true})
        for (const int64_t n_clusters : {1, 2, 7, 64, 65, 200})
            for (const int64_t n_slots_each : {1, 8, 20, 70, 300})
                if (n_clusters * n_slots_each < 5000) check_scores(n_clusters, n_slots_each, byte_weights);
}

TEST("more clusters than two bytes can number, and long lists of them") {
    const int64_t n_clusters = 70'000;
    std::vector<std::vector<float>> table(3, std::vector<float>(n_clusters, 0.f));
    for (int64_t c = 0; c < n_clusters; ++c) {
        table[0][c] = float(c % 100) + 1;
        if (c % 97 == 0) table[1][c] = 2;
    }
    table[2][69'998] = 3;
    std::vector<int64_t> starts(n_clusters + 1);
    for (int64_t c = 0; c <= n_clusters; ++c) starts[c] = c;
    const TableLevel made(starts, table);
    const std::vector<int32_t> features{0, 1, 2}, asked{69'998, 97, 0, 65'536, 69'937};
    const std::vector<float> values{1, 10, 100};
    FoundRows found;
    made.level->find({features, values}, asked, found);
    for (size_t rank = 0; rank < asked.size(); ++rank) {
        float scores[16];
        made.level->score(asked[rank], found, rank, 1.f, Activation::none, scores);
        const int32_t c = asked[rank];
        CHECK(scores[0] == float(c % 100) + 1 + (c % 97 == 0 ? 20 : 0) + (c == 69'998 ? 300 : 0));
    }
}

TEST("records at the borders of their kinds give their weights back") {
    std::vector<int64_t> starts{0};
    for (int c = 0; c < 5000; ++c) starts.push_back(starts.back() + (c < 200 ? 82 : 1));
    // As many rows as a short list has at most and some more, and one a little longer than two bytes can tell.
    const int64_t n_rows[] = {248, 249, 250, 251, 252, 253, 254};
    std::vector<std::vector<float>> table(8, std::vector<float>(starts.back(), 0.f));
    for (size_t f = 0; f < 7; ++f)
        for (int64_t row = 0; row < n_rows[f]; ++row) table[f][starts[200 + 3 * row]] = 1 + float(row);
    for (int64_t slot = 0; slot < starts[200]; ++slot) table[7][slot] = 1 + float(slot);
    const TableLevel made(starts, table);
    CHECK(made.weights.record_sizes[7] > UINT16_MAX && made.weights.record_sizes[7] < 72'000);
    for (int64_t f = 0; f < 8; ++f) {
        std::vector<float> weights(starts.back(), 0.f);
        made.level->for_each_weight(f, [&](int64_t slot, float weight) { weights[slot] = weight; });
        CHECK(weights == table[f]);
    }
    LevelWeights too_large;
    RecordWriter writer(2, 1, too_large);
    writer.announce_row(0, UINT32_MAX);
    bool refused = false;
    try {
        writer.announce_row(0, 1);
    } catch (const std::length_error&) {
        refused = true;
    }
    CHECK(refused);
}

TEST("the weights of a slot come back by feature") {
    const auto starts = clusters_of(9, 11);
    const auto table = random_table(40, starts.back(), 6);
    const TableLevel made(starts, table);
    int64_t n_weights = 0;
    for (int64_t c = 0; c < 9; ++c) {
        for (int64_t slot = starts[c]; slot < starts[c + 1]; ++slot) {
            const auto weights = made.level->slot_weights(c, slot - starts[c]);
            n_weights += static_cast<int64_t>(weights.size());
            for (const auto& [feature, weight] : weights) CHECK(table[feature][slot] == weight);
            const std::vector<int32_t> some{31, 7};
            const size_t n_some = (table[31][slot] != 0) + (table[7][slot] != 0);
            CHECK(made.level->slot_weights(c, slot - starts[c], some).size() == n_some);
        }
    }
    int64_t n_expected = 0;
    for (const auto& row : table) n_expected += row.size() - std::count(row.begin(), row.end(), 0.f);
    CHECK(n_weights == n_expected && made.level->n_weights() == n_expected);
}

TEST("clusters of joined parts are those of the parts byte for byte") {
    // Features x slots; the second cluster has another number of slots in the other levels.
    const TableLevel level({0, 2, 3, 5}, {{1, 0, 2, 0, 3}, {0, 4, 5, 6, 0}, {0, 0, 0, 7, 8}}, true);
    const TableLevel with_all({0, 0, 2, 2}, {{0, 9}, {3, 0}, {1, 2}}, true);
    const TableLevel alone({0, 2}, {{0, 9}, {3, 0}, {1, 2}}, true);
    const TableLevel nothing({0, 0, 0, 0}, {{}, {}, {}}, true);
    const TableLevel expected({0, 2, 4, 6}, {{1, 0, 0, 9, 0, 3}, {0, 4, 3, 0, 6, 0}, {0, 0, 1, 2, 7, 8}},
                              true);
    for (const TableLevel* other : {&with_all, &alone}) {
        const std::vector<const LinearLevel*> parts{nothing.level.get(), other->level.get(),
                                                    level.level.get()};
        const LevelWeights made = join_parts(parts, std::vector<int32_t>{2, 1, 2});
        CHECK(made.bytes == expected.weights.bytes);
        CHECK(made.record_sizes == expected.weights.record_sizes);
        CHECK(made.scales == expected.weights.scales && made.bias == expected.weights.bias);
    }
}

TEST("parts of a level with many clusters are joined in any order") {
    const std::vector<int64_t> starts = [] {
        std::vector<int64_t> all{0};
        for (int c = 0; c < 300; ++c) all.push_back(all.back() + c % 4);
        return all;
    }();
    const auto table = random_table(30, starts.back(), 6);
    const TableLevel whole(starts, table);
    for (const int n_parts : {1, 2, 5}) {
        std::vector<int32_t> part_of_cluster;
        for (int c = 0; c < 300; ++c) part_of_cluster.push_back((c * 7 + c / 5) % n_parts);
        std::vector<TableLevel> parts;
        std::vector<const LinearLevel*> levels;
        for (int p = 0; p < n_parts; ++p) {
            std::vector<int64_t> own_starts{0};
            std::vector<std::vector<float>> own(table.size());
            for (int c = 0; c < 300; ++c) {
                if (part_of_cluster[c] != p) continue;
                own_starts.push_back(own_starts.back() + starts[c + 1] - starts[c]);
                for (size_t f = 0; f < table.size(); ++f)
                    own[f].insert(own[f].end(), table[f].begin() + starts[c],
                                  table[f].begin() + starts[c + 1]);
            }
            parts.emplace_back(own_starts, own);
        }
        for (const auto& part : parts) levels.push_back(part.level.get());
        const LevelWeights made = join_parts(levels, part_of_cluster);
        CHECK(made.bytes == whole.weights.bytes && made.record_sizes == whole.weights.record_sizes);
    }
}

TEST("bytes are within half a step of a slot's largest weight, and never zero") {
    const std::vector<std::vector<float>> table{{1.f, -5.f}, {0.004f, 0.001f}, {-0.502f, 2.f}};
    const TableLevel made({0, 2}, table, true);
    for (int64_t slot = 0; slot < 2; ++slot) {
        const float step = (slot == 0 ? 1.f : 5.f) / 127;
        const auto weights = made.level->slot_weights(0, slot);
        CHECK(weights.size() == 3);
        for (const auto& [feature, weight] : weights) {
            CHECK(weight != 0 && (weight > 0) == (table[feature][slot] > 0));
            CHECK(std::fabs(weight - table[feature][slot]) <=
                  std::max(step / 2, step - std::fabs(table[feature][slot])) + 1e-6f);
        }
    }
}

TEST("all ways to add rows agree") {
    Random random(8);
    for (int64_t n_slots = 1; n_slots < 300; n_slots += 7) {
        const RowForm form(n_slots, true);
        std::vector<std::vector<uint8_t>> rows;
        std::vector<std::pair<uint32_t, bool>> kinds;
        for (int r = 0; r < 40; ++r) {
            TrainedCluster cluster;
            cluster.bias.assign(n_slots, 0.f);
            cluster.features = {0};
            const uint32_t one_in = 1 + random.below(9);
            for (int64_t j = 0; j < n_slots; ++j) {
                if (random.below(one_in) != 0 && j > 0) continue;
                cluster.columns.push_back(static_cast<uint16_t>(j));
                cluster.weights.push_back(float(random.below(200)) - 99.5f);
            }
            cluster.counts = {static_cast<uint32_t>(cluster.columns.size())};
            PackedCluster packed = pack_cluster(cluster, true);
            kinds.emplace_back(packed.sizes[0], packed.sizes[0] < form.lists_below());
            packed.bytes.resize(packed.bytes.size() + read_ahead, 0xAB);
            rows.push_back(std::move(packed.bytes));
        }
        std::vector<FoundRow> lists, bitmaps;
        for (size_t r = 0; r < rows.size(); ++r)
            (kinds[r].second ? lists : bitmaps)
                .push_back({rows[r].data(), kinds[r].first, float(r % 5) * 0.21f});
        const auto adders =
            form.column_bytes == 1 ? row_adders<uint8_t, int8_t>() : row_adders<uint16_t, int8_t>();
        for (const bool negative : {false, true}) {
            if (negative)
                for (auto* some : {&lists, &bitmaps})
                    for (FoundRow& row : *some) row.value -= 0.3f;
            std::vector<float> expected;
            for (const AddRows add_rows : adders) {
                std::vector<float> sums(padded(n_slots), 1.f);
                add_rows(lists, bitmaps, n_slots, negative ? 0.f : 0.84f, sums.data());
                if (expected.empty()) expected = sums;
                for (size_t j = 0; j < sums.size(); ++j) CHECK(std::fabs(sums[j] - expected[j]) < 0.05f);
            }
        }
    }
}

TEST("whatever the bytes are, a level is refused or stays within its arrays and agrees with itself") {
    const auto starts = clusters_of(70, 9);
    const TableLevel good(starts, random_table(24, starts.back(), 7), true);
    Random random(9);
    const std::vector<int32_t> features{0, 1, 2, 3, 7, 8, 13, 23}, asked{0, 33, 69, 2};
    const std::vector<float> values(features.size(), 1.f);
    int n_refused = 0;
    for (int i = 0; i < 3000; ++i) {
        LevelWeights spoilt = good.weights;
        const auto at = random.below(static_cast<uint32_t>(spoilt.bytes.size() - read_ahead));
        spoilt.bytes[at] = static_cast<uint8_t>(random.below(256));
        LevelWeightsView view = good.view();
        view.bytes = spoilt.bytes;
        try {
            const LinearLevel level(view);
            std::vector<float> sums(level.n_slots(), 0.f);
            for (const int32_t f : features) {
                int64_t before = -1;
                level.for_each_weight(f, [&](int64_t slot, float weight) {
                    CHECK(slot > before && slot < level.n_slots());
                    before = slot;
                    sums[slot] += weight;
                });
            }
            FoundRows found;
            level.find({features, values}, asked, found);
            std::vector<float> scores(16);
            for (size_t rank = 0; rank < asked.size(); ++rank) {
                const int32_t c = asked[rank];
                level.score(c, found, rank, 1.f, Activation::none, scores.data());
                for (int64_t j = 0; j < level.size(c); ++j)
                    CHECK(std::fabs(scores[j] - sums[level.first_slot(c) + j]) < 1e-3f);
            }
        } catch (const std::invalid_argument&) {
            ++n_refused;
        }
    }
    CHECK(n_refused > 500);
    LevelWeightsView view = good.view();
    std::vector<uint32_t> sizes = good.weights.record_sizes;
    view.record_sizes = sizes.data();
    sizes[3] += 1;
    for (const bool is_trusted : {false, true}) {
        bool refused = false;
        try {
            LinearLevel(view, is_trusted);
        } catch (const std::invalid_argument&) {
            refused = true;
        }
        CHECK(refused);
    }
}
