#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "check.hpp"
#include "label_ordering.hpp"

using namespace polyseme;

namespace {

using Ordered = std::vector<std::pair<float, int32_t>>;

bool close(float one, float other) { return std::abs(one - other) < 1e-5f; }

// One knot for each fact, and nothing in the tables, unless said otherwise.
struct Tables {
    std::vector<int64_t> knot_starts;
    std::vector<float> knots, values, curve{1, 0, 0, 0};

    explicit Tables(std::vector<std::vector<float>> knots_of_facts = std::vector<std::vector<float>>(n_facts,
                                                                                                     {0.f})) {
        knot_starts = {0};
        for (const auto& own : knots_of_facts) {
            knots.insert(knots.end(), own.begin(), own.end());
            knot_starts.push_back(std::ssize(knots));
        }
        values.assign(LabelOrdering::n_values(knot_starts), 0.f);
    }
    LabelOrdering ordering() const { return LabelOrdering({knot_starts, knots, values, curve}); }
};

int32_t count_of(const Ordered& labels) {
    return std::min(most_candidates, static_cast<int32_t>(labels.size()));
}

float logistic(float x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

TEST("the facts of a label tell of its best slot, of the surest one, and of all together") {
    FactsOfSlots slots;
    slots.add(0.25f, 0.125f);
    slots.add(0.01f, 0.01f);
    const Facts facts = slots.facts(3, 4, 2);
    CHECK(close(facts[fact_path], std::log(0.25f)));
    CHECK(close(facts[fact_slot], 0));  // the second is certain, given its cluster
    CHECK(facts[fact_count] == 3);
    CHECK(facts[fact_reached] == 2);
    CHECK(close(facts[fact_tempered], std::log(0.5f * 0.5f + 0.1f)));
    CHECK(close(facts[fact_product], std::log(0.135f)));
    CHECK(facts[fact_length] == 4);
    CHECK(facts[fact_name] == 2);
}

TEST("of slots with equal scores the first counts as the best") {
    FactsOfSlots slots;
    slots.add(0.5f, 0.25f);
    slots.add(0.25f, 0.25f);
    CHECK(close(slots.facts(0, 0, 0)[fact_path], std::log(0.5f)));
}

TEST("facts are finite where scores vanish or are no numbers") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float smallest = std::numeric_limits<float>::denorm_min();
    const std::pair<float, float> scores[] = {{0, 0}, {1, 0}, {smallest, smallest}, {1, nan}, {nan, nan}};
    for (const auto& [path, score] : scores) {
        FactsOfSlots slots;
        slots.add(path, score);
        for (const float fact : slots.facts(0, 0, 0)) CHECK(std::isfinite(fact));
    }
}

TEST("empty tables leave the logarithm of the product") {
    const Tables tables;
    CHECK(std::ssize(tables.values) == 13);
    CHECK(tables.ordering().value({-1, 2, 3, 1, -2, -5, 4, 2}) == -5);
}

TEST("a table of one knot counts for every label alike") {
    Tables tables;
    for (float& value : tables.values) value = 0.5f;
    CHECK(close(tables.ordering().value({}), 6.5f));
    CHECK(close(tables.ordering().value({9, 9, 9, 9, 9, 0, 9, 9}), 6.5f));
}

TEST("names without knots have no tables and count for nothing") {
    auto knots = std::vector<std::vector<float>>(n_facts, {0.f});
    knots[fact_name] = {};
    Tables tables(knots);
    CHECK(std::ssize(tables.values) == 11);
    for (float& value : tables.values) value = 0.5f;
    for (const float name : {0.f, 1.f, 4.f})
        CHECK(close(tables.ordering().value({9, 9, 9, 9, 9, 0, 9, name}), 5.5f));
}

TEST("what a name is worth depends on the count as well") {
    auto knots = std::vector<std::vector<float>>(n_facts, {0.f});
    knots[fact_count] = {0, 2};
    knots[fact_name] = {1, 4};
    Tables tables(knots);
    // The last tables are of the name alone, and of count and name, the name fastest.
    const float of_names[] = {0, 3, 0, 0, 0, 6};
    std::copy(std::begin(of_names), std::end(of_names), tables.values.end() - 6);
    const auto value = [&](float count, float name) {
        return tables.ordering().value({0, 0, count, 0, 0, 0, 0, name});
    };
    CHECK(value(0, 0) == 0 && value(2, 1) == 0);
    CHECK(close(value(0, 4), 3) && close(value(1, 4), 6) && close(value(2, 4), 9));
    CHECK(close(value(2, 2.5f), 4.5f));
}

TEST("a table is straight between its knots and level beyond them") {
    auto knots = std::vector<std::vector<float>>(n_facts, {0.f});
    knots[fact_path] = {-4, -2, 0};
    Tables tables(knots);
    tables.values[0] = 1, tables.values[1] = 3, tables.values[2] = -1;  // the first table is of the path
    const auto ordering = tables.ordering();
    const std::pair<float, float> expected[] = {{-9, 1},    {-4, 1}, {-3, 2}, {-2, 3},
                                                {-0.5f, 0}, {0, -1}, {7, -1}};
    for (const auto& [path, value] : expected) CHECK(close(ordering.value({path}), value));
}

TEST("a table of two facts is straight along each") {
    auto knots = std::vector<std::vector<float>>(n_facts, {0.f});
    knots[fact_path] = {0, 1};
    knots[fact_slot] = {0, 2, 4};
    Tables tables(knots);
    // Behind the six tables of one fact, with 2 + 3 + 1 + 1 + 1 + 1 values; the slot is fastest.
    const float of_pairs[] = {0, 2, 4, 10, 12, 14};
    std::copy(std::begin(of_pairs), std::end(of_pairs), tables.values.begin() + 9);
    const auto ordering = tables.ordering();
    for (const float path : {-1.f, 0.f, 0.25f, 1.f, 3.f})
        for (const float slot : {-1.f, 0.f, 1.f, 2.f, 3.5f, 4.f, 9.f})
            CHECK(close(ordering.value({path, slot}),
                        std::clamp(slot, 0.f, 4.f) + 10 * std::clamp(path, 0.f, 1.f)));
}

TEST("candidates are so many, and none that is far behind the first") {
    CHECK(count_candidates({}) == 0);
    const std::vector<float> equal(most_candidates + 5, 0.5f);
    CHECK(count_candidates(equal) == most_candidates);
    CHECK(count_candidates(std::span(equal).first(3)) == 3);
    const float best = 0.8f, last = candidate_share * best;
    const float products[] = {best, 0.1f, last, std::nextafter(last, 0.f), 0};
    CHECK(count_candidates(products) == 3);
    const float below_nothing[] = {-2, -2, -3};  // scores of another kind
    CHECK(count_candidates(below_nothing) == 1);
}

TEST("labels are put in order, the lower number first among equals") {
    const Tables tables;
    Ordered labels = {{-3, 8}, {-1, 5}, {-3, 2}, {0, 9}, {-1, 7}};
    tables.ordering().order(labels, count_of(labels), 0);
    const std::pair<float, int32_t> expected[] = {{0, 9}, {-1, 5}, {-1, 7}, {-3, 2}, {-3, 8}};
    for (size_t i = 0; i < labels.size(); ++i) {
        CHECK(labels[i].second == expected[i].second);
        CHECK(close(labels[i].first, logistic(expected[i].first)));
    }
    Ordered none;
    tables.ordering().order(none, 0, 0);
    CHECK(none.empty());
}

TEST("labels after the candidates stay where they are and never rise") {
    const Tables tables;
    Ordered labels;
    for (int32_t i = 0; i < most_candidates; ++i) labels.emplace_back(float(i) / 10, 100 + i);
    for (const float value : {5.f, -1.f, 3.f, -2.f}) labels.emplace_back(value, 50 - std::ssize(labels));
    const Ordered before = labels;
    tables.ordering().order(labels, count_of(labels), 0);
    for (int32_t i = 0; i < most_candidates; ++i) CHECK(labels[i].second == 100 + most_candidates - 1 - i);
    const float expected[] = {0, -1, -1, -2};
    for (int32_t i = 0; i < 4; ++i) {
        CHECK(labels[most_candidates + i].second == before[most_candidates + i].second);
        CHECK(close(labels[most_candidates + i].first, logistic(expected[i])));
    }
}

TEST("how likely labels are depends on the candidates and the length, not on what comes after") {
    Tables tables;
    tables.curve = {0.5f, -0.25f, 0.125f, 1};
    Ordered few, many;
    for (int32_t i = 0; i < most_candidates; ++i) few.emplace_back(-float(i), i);
    many = few;
    for (int32_t i = 0; i < 30; ++i) many.emplace_back(10.f, 100 + i);
    tables.ordering().order(few, most_candidates, 2);
    tables.ordering().order(many, most_candidates, 2);
    float sum = 0;
    for (int32_t i = 0; i < most_candidates; ++i) sum += std::exp(-float(i));
    for (int32_t i = 0; i < most_candidates; ++i) {
        CHECK(few[i] == many[i]);
        CHECK(close(few[i].first, logistic(0.5f * -float(i) - 0.25f * std::log(sum) + 0.125f * 2 + 1)));
    }
}

TEST("a bonus is added to the logarithm of a probability, however small that is") {
    const Tables tables;
    const std::vector<float> bonus = {0, 1, 3, 0, 0};
    Ordered labels = {{2, 0}, {0, 1}, {-1, 2}, {-300, 3}, {-200, 4}};
    tables.ordering().order(labels, count_of(labels), 0, bonus);
    const std::pair<float, int32_t> expected[] = {{-1, 2}, {0, 1}, {2, 0}, {-200, 4}, {-300, 3}};
    for (size_t i = 0; i < labels.size(); ++i) {
        CHECK(labels[i].second == expected[i].second);
        CHECK(close(labels[i].first, logistic(expected[i].first)));
    }
}
