// How much of a label's name stands in a document, by its words.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace polyseme {

// The words of the names of labels, and which features are such words.
struct NameWords {
    static constexpr int32_t no_word = -1;

    std::span<const int32_t> word_of_feature;  // below `n_words`, or `no_word`
    std::span<const int64_t> starts;           // [n_labels + 1], into `words`
    std::span<const int32_t> words;            // of each label's name, each once
    int64_t n_words = 0;
};

// The words of one document, marked for as long as this lives.
class WordsOfDocument {
  public:
    // Of `marks` all are 0, now and afterwards. Without names nothing is done.
    WordsOfDocument(const NameWords* names, std::span<const int32_t> features, std::vector<uint8_t>& marks);
    ~WordsOfDocument();
    WordsOfDocument(const WordsOfDocument&) = delete;
    WordsOfDocument& operator=(const WordsOfDocument&) = delete;

    // The fact 'name': 0 if the label has no name in words; else from 1, nothing of it is there, over
    // 2, up to a half, and 3, more, to 4, every word.
    float found_of(int32_t label) const;

  private:
    void mark(uint8_t value) const;

    const NameWords* names_;
    std::span<const int32_t> features_;
    std::vector<uint8_t>& marks_;
};

}  // namespace polyseme
