#include "check.hpp"
#include "name_words.hpp"

using namespace polyseme;

namespace {

// Four words. Features 0 and 3 are the same word, feature 2 is in no name, and nothing is word 3.
constexpr int32_t word_of_feature[] = {0, 1, -1, 0, 2};
// Labels: no name; word 3; words 0 and 3; words 0, 1 and 3; words 0, 1 and 2.
constexpr int64_t starts[] = {0, 0, 1, 3, 6, 9};
constexpr int32_t words[] = {3, 0, 3, 0, 1, 3, 0, 1, 2};
const NameWords names{word_of_feature, starts, words, 4};

}  // namespace

TEST("names are found in a document as far as their words are") {
    std::vector<uint8_t> marks;
    const int32_t features[] = {1, 2, 3, 4};
    const WordsOfDocument document(&names, features, marks);
    const float expected[] = {0, 1, 2, 3, 4};
    for (int32_t label = 0; label < 5; ++label) CHECK(document.found_of(label) == expected[label]);
}

TEST("the words of one document are forgotten before the next, whatever the size of the model") {
    std::vector<uint8_t> marks;
    const int32_t features[] = {0, 1, 2, 3, 4};
    {
        const WordsOfDocument document(&names, features, marks);
    }
    for (const uint8_t mark : marks) CHECK(mark == 0);

    const int32_t one_word[] = {0};
    const int64_t one_name[] = {0, 1};
    const NameWords smaller{one_word, one_name, one_word, 1};
    const WordsOfDocument empty(&smaller, {}, marks);
    CHECK(empty.found_of(0) == 1);
}

TEST("without names nothing is marked and nothing is known") {
    std::vector<uint8_t> marks;
    const int32_t features[] = {100, 200};
    const WordsOfDocument document(nullptr, features, marks);
    CHECK(marks.empty());
    CHECK(document.found_of(7) == 0);
}
