// The learned order of labels as Python gives it, all of it checked.
#pragma once

#include <algorithm>
#include <optional>

#include "bound_level.hpp"
#include "rank_and_merge.hpp"

namespace polyseme::bindings {

template <class T>
std::span<const T> span_of(const In<T>& array) {
    return {array.data(), array.size()};
}

// The words of the names of labels, all of them checked.
struct BoundNames {
    In<int32_t> word_of_feature, words;
    In<int64_t> starts;
    NameWords names;

    BoundNames(const In<int32_t>& word_of_feature, const In<int64_t>& starts, const In<int32_t>& words)
        : word_of_feature(word_of_feature), words(words), starts(starts),
          names{span_of(word_of_feature), span_of(starts), span_of(words)} {
        require_starts(starts, static_cast<int64_t>(words.size()),
                       "the starts of names do not fit their words");
        // Each word is one of a name, which also keeps a damaged number from asking for memory.
        for (const int32_t word : names.words) {
            require(word >= 0 && word < std::ssize(names.words), "a word of a name is out of range");
            names.n_words = std::max<int64_t>(names.n_words, word + 1);
        }
        for (const int32_t word : names.word_of_feature)
            require(word >= NameWords::no_word && word < names.n_words, "a feature's word is out of range");
    }
    int64_t n_labels() const { return static_cast<int64_t>(starts.size()) - 1; }
};

// The learned order of candidates, and what is known of each label.
struct BoundOrdering {
    In<int64_t> knot_starts;
    In<float> knots, values, curve, label_counts;
    std::optional<In<float>> label_bonus;
    const BoundNames* names;
    LabelOrdering ordering;

    BoundOrdering(const In<int64_t>& knot_starts, const In<float>& knots, const In<float>& values,
                  const In<float>& curve, const In<float>& label_counts,
                  const std::optional<In<float>>& label_bonus, const BoundNames* names)
        : knot_starts(knot_starts), knots(knots), values(values), curve(curve), label_counts(label_counts),
          label_bonus(label_bonus), names(names),
          ordering({span_of(knot_starts), span_of(knots), span_of(values), span_of(curve)}) {
        require(knot_starts.size() == n_facts + 1, "every fact must have knots");
        require_starts(knot_starts, static_cast<int64_t>(knots.size()), "knot starts do not fit the knots");
        for (int fact = 0; fact < n_facts; ++fact)
            require(fact == fact_name || knot_starts.data()[fact] < knot_starts.data()[fact + 1],
                    "every fact must have knots");
        require(static_cast<int64_t>(values.size()) == LabelOrdering::n_values(span_of(knot_starts)),
                "the values of the ordering do not fit its knots");
        require(curve.size() == LabelOrdering::n_curve, "the curve of the ordering must have four numbers");
        require(!label_bonus || label_bonus->size() == label_counts.size(),
                "the bonus and the counts of labels differ in length");
    }
    KnownOfLabels known() const { return {span_of(label_counts), names ? &names->names : nullptr}; }
    std::span<const float> bonus() const {
        return label_bonus ? span_of(*label_bonus) : std::span<const float>();
    }
};

}  // namespace polyseme::bindings
