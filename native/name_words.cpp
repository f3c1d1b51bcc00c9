#include "name_words.hpp"

namespace polyseme {

WordsOfDocument::WordsOfDocument(const NameWords* names, std::span<const int32_t> features,
                                 std::vector<uint8_t>& marks)
    : names_(names), features_(features), marks_(marks) {
    if (names_ == nullptr) return;
    // The marks serve models of all sizes in turn. The first is for features that are no word.
    if (static_cast<int64_t>(marks_.size()) <= names_->n_words) marks_.resize(names_->n_words + 1, 0);
    mark(1);
}

WordsOfDocument::~WordsOfDocument() {
    if (names_ != nullptr) mark(0);
}

void WordsOfDocument::mark(uint8_t value) const {
    for (const int32_t feature : features_) marks_[names_->word_of_feature[feature] + 1] = value;
}

float WordsOfDocument::found_of(int32_t label) const {
    if (names_ == nullptr) return 0;
    const int64_t first = names_->starts[label], n = names_->starts[label + 1] - first;
    int64_t n_found = 0;
    for (const int32_t word : names_->words.subspan(first, n)) n_found += marks_[word + 1];
    if (n == 0) return 0;
    if (n_found == 0) return 1;
    return n_found == n ? 4.f : 2 * n_found <= n ? 2.f : 3.f;
}

}  // namespace polyseme
