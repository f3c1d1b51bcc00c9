// The text format of the Extreme Classification Repository: one line per document,
// "label,label feature:value feature:value". The header line is the caller's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "parallel_for.hpp"
#include "sparse_view.hpp"

namespace polyseme {

// Leaves new elements as they are: the workers that fill a part also touch its pages first.
template <class T>
struct Uninitialised : std::allocator<T> {
    template <class U>
    struct rebind {
        using other = Uninitialised<U>;
    };
    template <class U>
    void construct(U* place) noexcept {
        ::new (static_cast<void*>(place)) U;
    }
};

template <class T>
using Buffer = std::vector<T, Uninitialised<T>>;

// Two matrices in canonical form: sorted, no duplicates, no stored zeros.
struct TextRows {
    std::vector<int64_t> feature_starts{0};
    Buffer<int32_t> features;
    Buffer<float> values;
    std::vector<int64_t> label_starts{0};
    Buffer<int32_t> labels;
};

struct TextLimits {
    int64_t n_features;
    int64_t n_labels;
    int64_t first_line = 1;  // number of the text's first line, for messages
};

// Reads every line of the text. Throws std::invalid_argument for the first line that is wrong,
// whatever the number of threads. `chunk_size` is the bytes a worker takes at a time.
TextRows parse_text(std::string_view text, const TextLimits& limits, int n_threads, RunControl& control,
                    int64_t chunk_size = 1 << 20);

// Writes one line per row so that parse_text gives back the same bits. Both have the same rows.
std::string format_text(const MatrixView& features, const PatternView& labels);

}  // namespace polyseme
