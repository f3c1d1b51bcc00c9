#include "label_ordering.hpp"

#include <algorithm>
#include <cmath>

namespace polyseme {

namespace {

constexpr float least_log_odds = -80;  // single precision still tells it from 0

constexpr float least_score = 1e-30f;

// One fact of each table, or two.
constexpr int none = -1;
constexpr std::pair<int, int> tables[] = {
    {fact_path, none},       {fact_slot, none},         {fact_count, none},        {fact_reached, none},
    {fact_tempered, none},   {fact_product, none},      {fact_path, fact_slot},    {fact_count, fact_slot},
    {fact_count, fact_path}, {fact_length, fact_count}, {fact_reached, fact_slot}, {fact_name, none},
    {fact_count, fact_name},
};

float log_of(float score) { return std::log(std::max(least_score, score)); }  // NaN is least

// Between which knots a number lies, and how far on the way from one to the next.
struct Place {
    int64_t below = 0, above = 0;
    float share = 0;
};

Place place_of(float x, std::span<const float> knots) {
    Place place;
    const auto last = std::ssize(knots) - 1;
    while (place.below < last && knots[place.below + 1] <= x) ++place.below;
    place.above = std::min<int64_t>(place.below + 1, last);
    if (place.above > place.below)
        place.share =
            std::clamp((x - knots[place.below]) / (knots[place.above] - knots[place.below]), 0.f, 1.f);
    return place;
}

float between(float low, float high, float share) { return low + (high - low) * share; }

// The logarithm of a probability, also of one that is too small for its own number.
float log_chance(float log_odds) {
    return std::min(log_odds, 0.f) - std::log1p(std::exp(-std::abs(log_odds)));
}

}  // namespace

int32_t count_candidates(std::span<const float> products) {
    const auto most = std::min<size_t>(products.size(), most_candidates);
    size_t n = std::min<size_t>(most, 1);
    while (n < most && products[n] >= candidate_share * products[0]) ++n;
    return static_cast<int32_t>(n);
}

void FactsOfSlots::add(float path, float score) {
    const float own = path > 0 ? std::min(score / path, 1.f) : 0.f;
    if (score > best_score_) {
        best_score_ = score;
        best_path_ = path;
    }
    most_ = std::max(most_, own);
    tempered_ += std::sqrt(path) * own;
    sum_ += score;
    ++n_reached_;
}

Facts FactsOfSlots::facts(float count, float length, float name) const {
    Facts facts;
    facts[fact_path] = log_of(best_path_);
    facts[fact_slot] = std::cbrt(-log_of(most_));  // how far its margin is short of one
    facts[fact_count] = count;
    facts[fact_reached] = static_cast<float>(n_reached_);
    facts[fact_tempered] = log_of(tempered_);
    facts[fact_product] = log_of(sum_);
    facts[fact_length] = length;
    facts[fact_name] = name;
    return facts;
}

int64_t LabelOrdering::n_values(std::span<const int64_t> starts) {
    const auto n_knots = [&](int fact) { return fact == none ? 1 : starts[fact + 1] - starts[fact]; };
    int64_t n = 0;
    for (const auto& [one, other] : tables) n += n_knots(one) * n_knots(other);
    return n;
}

float LabelOrdering::value(const Facts& facts) const {
    std::array<Place, n_facts> places;
    std::array<int64_t, n_facts> n_knots;
    for (int fact = 0; fact < n_facts; ++fact) {
        n_knots[fact] = view_.knot_starts[fact + 1] - view_.knot_starts[fact];
        if (n_knots[fact] == 0) continue;  // its tables have no values
        places[fact] = place_of(facts[fact], view_.knots.subspan(view_.knot_starts[fact], n_knots[fact]));
    }
    float sum = facts[fact_product];
    const float* table = view_.values.data();
    for (const auto& [one, other] : tables) {
        if (n_knots[one] == 0 || (other != none && n_knots[other] == 0)) continue;
        const Place& a = places[one];
        if (other == none) {
            sum += between(table[a.below], table[a.above], a.share);
            table += n_knots[one];
            continue;
        }
        const Place& b = places[other];
        const float* const low = table + a.below * n_knots[other];
        const float* const high = table + a.above * n_knots[other];
        sum += between(between(low[b.below], low[b.above], b.share),
                       between(high[b.below], high[b.above], b.share), a.share);
        table += n_knots[one] * n_knots[other];
    }
    return sum;
}

void LabelOrdering::order(std::vector<std::pair<float, int32_t>>& labels, int32_t n_candidates, float length,
                          std::span<const float> bonus) const {
    if (labels.empty()) return;
    const auto candidates = std::span(labels).first(n_candidates);
    const auto [lowest, highest] = std::minmax_element(candidates.begin(), candidates.end());
    const float high = highest->first;
    float least = lowest->first, sum = 0;
    for (const auto& [value, label] : candidates) sum += std::exp(value - high);
    for (auto& [value, label] : std::span(labels).subspan(candidates.size()))
        least = value = std::min(value, least);

    const auto& curve = view_.curve;
    const float offset = curve[1] * (high + std::log(sum)) + curve[2] * length + curve[3];
    const auto log_odds = [&](float value) { return curve[0] * value + offset; };
    const auto rank_by = [&](const std::pair<float, int32_t>& one) {
        return bonus.empty() ? one.first : bonus[one.second] + log_chance(log_odds(one.first));
    };
    std::sort(candidates.begin(), candidates.end(), [&](const auto& one, const auto& other) {
        const float of_one = rank_by(one), of_other = rank_by(other);
        return of_one > of_other || (of_one == of_other && one.second < other.second);
    });
    // What is found is never quite impossible: a stored score is not 0.
    for (auto& [value, label] : labels)
        value = 1 / (1 + std::exp(-std::max(log_odds(value), least_log_odds)));
}

}  // namespace polyseme
