// The learned last step: candidates of a document are put in order by what is known of each.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace polyseme {

// What is known of a (document, label) pair when the slots of the reached clusters are scored. The
// order is that of `polyseme.ordering.facts`.
enum Fact {
    fact_path,
    fact_slot,
    fact_count,
    fact_reached,
    fact_tempered,
    fact_product,
    fact_length,
    fact_name,
};
constexpr int n_facts = 8;
using Facts = std::array<float, n_facts>;

// Candidates are put in order, and all other labels come after them: so many, by the product of
// their scores, and of these no label whose product is less than such a share of the best.
constexpr int32_t most_candidates = 16;
constexpr float candidate_share = 1.f / 400;

// How many labels are candidates, given their products, best first.
int32_t count_candidates(std::span<const float> products);

// Collects what a label's reached slots say.
class FactsOfSlots {
  public:
    // A slot in a reached cluster: the score of the cluster, and that times the slot's own. Both lie
    // between 0 and 1.
    void add(float path, float score);
    // `count` is the logarithm of one more than the label's training documents, `length` that of one
    // more than the document's sparse features, `name` is of `WordsOfDocument`.
    Facts facts(float count, float length, float name) const;

  private:
    float best_score_ = -1, best_path_ = 0, most_ = 0, tempered_ = 0, sum_ = 0;
    int32_t n_reached_ = 0;
};

// Tables over facts, straight between their knots and level beyond; what they give is added.
class LabelOrdering {
  public:
    struct View {
        std::span<const int64_t> knot_starts;  // [n_facts + 1], into `knots`; names may have none
        std::span<const float> knots;          // of each fact, ascending
        std::span<const float> values;         // of each table in turn, the second fact fastest
        std::span<const float> curve;          // value, all candidates' values, length, constant
    };
    static constexpr int n_curve = 4;

    // How many values the tables have, given where the knots of each fact start.
    static int64_t n_values(std::span<const int64_t> knot_starts);

    explicit LabelOrdering(const View& view) : view_(view) {}

    // What speaks for a label: higher is better.
    float value(const Facts& facts) const;

    // Puts a document's labels, best product first, in order, and turns their values into
    // probabilities. Labels after the first `n_candidates` stay where they are, none above the one
    // before it: what comes first does not depend on how many there are.
    //
    // With a bonus for each label, candidates are put in order by the logarithm of their probability
    // and that.
    void order(std::vector<std::pair<float, int32_t>>& labels, int32_t n_candidates, float length,
               std::span<const float> bonus = {}) const;

  private:
    View view_;
};

}  // namespace polyseme
