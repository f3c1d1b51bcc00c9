#include "text_format.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

// libc++ reads floats since version 20, but Apple only lets programs for its newest system use that.
#if defined(__cpp_lib_to_chars) || (_LIBCPP_VERSION >= 200000 && !defined(__APPLE__))
#define POLYSEME_READS_FLOATS
#else
#include <locale.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif
#endif

namespace polyseme {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// What the parser reports; the line number is added where it is known.
struct BadLine {
    std::string message;
};

// A token as a message may show it: short, and plain ASCII whatever the file holds.
std::string shown(const char* at, const char* end) {
    constexpr int max_length = 40;
    std::string token;
    for (; at < end && !is_space(*at); ++at) {
        if (token.size() == max_length) return "'" + token + "...'";
        token += *at > ' ' && *at <= '~' ? *at : '?';
    }
    return "'" + token + "'";
}

#if defined(POLYSEME_READS_FLOATS)
// Of a number that no float holds: zero where it is too small, infinite where it is too large.
float out_of_range(const char* at, const char* stop) {
    double value = 0;
    if (std::from_chars(at, stop, value).ec == std::errc()) return static_cast<float>(value);
    const char* power = std::find_if(at, stop, [](char c) { return c == 'e' || c == 'E'; });
    const char* first = std::find_if(at, power, [](char c) { return c >= '1' && c <= '9'; });
    const bool is_small = power < stop ? power[1] == '-' : std::find(at, power, '.') < first;
    return is_small ? 0 : std::numeric_limits<float>::infinity();
}
#endif

// The exact way, for numbers that the quick way does not cover.
float slow_value(const char*& at, const char* end) {
    const char* token = at;
    if (at < end && *at == '+') ++at;
    float value = 0;
#if defined(POLYSEME_READS_FLOATS)
    const auto [stop, error] = std::from_chars(at, end, value);
    if (error == std::errc::result_out_of_range) value = out_of_range(at, stop);
#else
    // strtof would take hexadecimal numbers as well, and a comma where the program's locale has one.
    static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
    const auto ends_number = [](char c) { return is_space(c) || c == 'x' || c == 'X'; };
    const std::string copy(at, std::find_if(at, end, ends_number));
    char* copy_stop = nullptr;
    value = strtof_l(copy.c_str(), &copy_stop, plain);
    const char* stop = at + (copy_stop - copy.c_str());
#endif
    if (stop == at) throw BadLine{"expected a number after the colon, found " + shown(token, end)};
    if (!std::isfinite(value))
        throw BadLine{"the value " + shown(token, end) + " is not a finite float32 number"};
    at = stop;
    return value;
}

// Digits fit a double exactly and so does the power of ten: one division, rounded once. Rounding
// again to float is right unless the double lies half way between two floats.
float parse_value(const char*& at, const char* end) {
    static constexpr double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                               1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                               1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char* start = at;
    const bool negative = at < end && *at == '-';
    if (negative) ++at;
    uint64_t digits = 0;
    const char* first_digit = at;
    for (; at < end && is_digit(*at); ++at) digits = digits * 10 + (*at - '0');
    int64_t n_digits = at - first_digit;
    int64_t n_decimals = 0;
    if (at < end && *at == '.') {
        const char* first_decimal = ++at;
        for (; at < end && is_digit(*at); ++at) digits = digits * 10 + (*at - '0');
        n_decimals = at - first_decimal;
        n_digits += n_decimals;
    }
    const bool token_ends = at == end || is_space(*at);
    if (token_ends && n_digits > 0 && n_digits <= 19 && digits <= (uint64_t{1} << 53)) {
        const double number = static_cast<double>(digits) / powers_of_ten[n_decimals];
        constexpr uint64_t below_float = (uint64_t{1} << 29) - 1;
        if ((std::bit_cast<uint64_t>(number) & below_float) != (uint64_t{1} << 28))
            return static_cast<float>(negative ? -number : number);
    }
    at = start;
    return slow_value(at, end);
}

// Any run of digits; numbers too long to count come back as the largest, and out of range.
int64_t parse_number(const char*& at, const char* end) {
    constexpr int64_t largest = std::numeric_limits<int64_t>::max();
    int64_t number = 0;
    for (; at < end && is_digit(*at); ++at)
        number = number > largest / 10 - 1 ? largest : number * 10 + (*at - '0');
    return number;
}

int32_t require_in_range(int64_t number, int64_t count, const char* what, const char* token,
                         const char* end) {
    if (number < count) return static_cast<int32_t>(number);
    throw BadLine{std::string("the ") + what + " number in " + shown(token, end) +
                  " is out of range: the header promises " + std::to_string(count) + " " + what +
                  "s, numbered from 0"};
}

// Reads lines into places that are large enough by the count of commas, colons and lines.
class LineParser {
  public:
    LineParser(const TextLimits& limits, int32_t* labels, int32_t* features, float* values)
        : limits_(limits), labels_(labels), features_(features), values_(values) {}

    struct Sizes {
        int64_t n_labels;
        int64_t n_features;
    };

    Sizes parse(const char* at, const char* end) {
        at = parse_labels(at, end);
        parse_features(at, end);
        const Sizes sizes{finish_labels(), finish_features()};
        labels_ += sizes.n_labels;
        features_ += sizes.n_features;
        values_ += sizes.n_features;
        return sizes;
    }

  private:
    const char* parse_labels(const char* at, const char* end) {
        n_labels_ = 0;
        labels_sorted_ = true;
        if (at == end || is_space(*at)) return at;  // no labels
        const char* token = at;
        while (true) {
            const char* first_digit = at;
            const int64_t number = parse_number(at, end);
            if (at == first_digit)
                throw BadLine{"expected label numbers with commas between them, found " + shown(token, end)};
            // a line of features alone that forgot its leading space
            if (n_labels_ == 0 && at < end && *at == ':') return token;
            const int32_t label = require_in_range(number, limits_.n_labels, "label", first_digit, end);
            if (n_labels_ > 0 && labels_[n_labels_ - 1] >= label) labels_sorted_ = false;
            labels_[n_labels_++] = label;
            if (at == end || is_space(*at)) return at;
            if (*at != ',')
                throw BadLine{"expected label numbers with commas between them, found " + shown(token, end)};
            ++at;
        }
    }

    void parse_features(const char* at, const char* end) {
        n_features_ = 0;
        features_sorted_ = true;
        bool any_zero = false;
        while (true) {
            while (at < end && is_space(*at)) ++at;
            if (at == end) break;
            const char* token = at;
            const int64_t number = parse_number(at, end);
            if (at == token || at == end || *at != ':')
                throw BadLine{"expected feature:value, found " + shown(token, end)};
            const int32_t feature = require_in_range(number, limits_.n_features, "feature", token, end);
            const float value = parse_value(++at, end);
            if (at < end && !is_space(*at))
                throw BadLine{"expected feature:value, found " + shown(token, end)};
            if (n_features_ > 0 && features_[n_features_ - 1] >= feature) features_sorted_ = false;
            any_zero |= value == 0;
            features_[n_features_] = feature;
            values_[n_features_++] = value;
        }
        features_tidy_ = features_sorted_ && !any_zero;
    }

    int64_t finish_labels() {
        if (labels_sorted_) return n_labels_;
        std::sort(labels_, labels_ + n_labels_);
        return std::unique(labels_, labels_ + n_labels_) - labels_;
    }

    // Sorts, adds up what is repeated (in the order of the line), drops zeros.
    int64_t finish_features() {
        if (features_tidy_) return n_features_;
        pairs_.clear();
        for (int64_t e = 0; e < n_features_; ++e) pairs_.emplace_back(features_[e], values_[e]);
        std::stable_sort(pairs_.begin(), pairs_.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        int64_t n_kept = 0;
        for (size_t e = 0; e < pairs_.size();) {
            const int32_t feature = pairs_[e].first;
            float sum = pairs_[e++].second;
            for (; e < pairs_.size() && pairs_[e].first == feature; ++e) sum += pairs_[e].second;
            if (!std::isfinite(sum))
                throw BadLine{"the values of feature " + std::to_string(feature) +
                              " add up to more than float32 holds"};
            if (sum == 0) continue;
            features_[n_kept] = feature;
            values_[n_kept++] = sum;
        }
        return n_kept;
    }

    const TextLimits limits_;
    int32_t* labels_;
    int32_t* features_;
    float* values_;
    int64_t n_labels_ = 0;
    int64_t n_features_ = 0;
    bool labels_sorted_ = true;
    bool features_sorted_ = true;
    bool features_tidy_ = true;
    std::vector<std::pair<int32_t, float>> pairs_;
};

// A run of whole lines, with room for what it can hold at most and the place of that room.
struct Chunk {
    std::string_view text;
    int64_t n_lines = 0;
    int64_t max_labels = 0;
    int64_t max_features = 0;
    int64_t first_line = 0;
    int64_t labels_at = 0;
    int64_t features_at = 0;
    int64_t n_labels = 0;
    int64_t n_features = 0;
    std::optional<std::string> error = std::nullopt;
};

std::vector<Chunk> cut_at_line_ends(std::string_view text, int64_t chunk_size) {
    std::vector<Chunk> chunks;
    const auto size = static_cast<size_t>(std::max<int64_t>(1, chunk_size));
    for (size_t begin = 0; begin < text.size();) {
        size_t end = text.size();
        if (text.size() - begin > size) {
            const size_t line_end = text.find('\n', begin + size - 1);
            if (line_end != std::string_view::npos) end = line_end + 1;
        }
        chunks.push_back({.text = text.substr(begin, end - begin)});
        begin = end;
    }
    return chunks;
}

void count_entries(Chunk& chunk) {
    const auto count = [&](char c) { return std::count(chunk.text.begin(), chunk.text.end(), c); };
    chunk.n_lines = count('\n') + (chunk.text.back() != '\n');
    chunk.max_labels = count(',') + chunk.n_lines;
    chunk.max_features = count(':');
}

void parse_chunk(Chunk& chunk, const TextLimits& limits, TextRows& rows) {
    LineParser parser(limits, rows.labels.data() + chunk.labels_at, rows.features.data() + chunk.features_at,
                      rows.values.data() + chunk.features_at);
    const char* at = chunk.text.data();
    const char* const end = at + chunk.text.size();
    for (int64_t line = chunk.first_line; at < end; ++line) {
        const auto* line_end = static_cast<const char*>(std::memchr(at, '\n', end - at));
        if (line_end == nullptr) line_end = end;
        try {
            const auto sizes = parser.parse(at, line_end);
            rows.label_starts[line + 1] = sizes.n_labels;
            rows.feature_starts[line + 1] = sizes.n_features;
            chunk.n_labels += sizes.n_labels;
            chunk.n_features += sizes.n_features;
        } catch (const BadLine& bad) {
            chunk.error = "line " + std::to_string(limits.first_line + line) + ": " + bad.message;
            return;
        }
        at = line_end + (line_end < end);
    }
}

// Closes the gaps that repeated entries, zeros and lines without labels have left.
void close_gaps(const std::vector<Chunk>& chunks, TextRows& rows) {
    int64_t n_labels = 0;
    int64_t n_features = 0;
    const auto move_down = [](auto& buffer, int64_t from, int64_t count, int64_t to) {
        if (from != to && count > 0)
            std::memmove(buffer.data() + to, buffer.data() + from, count * sizeof(buffer[0]));
    };
    for (const Chunk& chunk : chunks) {
        move_down(rows.labels, chunk.labels_at, chunk.n_labels, n_labels);
        move_down(rows.features, chunk.features_at, chunk.n_features, n_features);
        move_down(rows.values, chunk.features_at, chunk.n_features, n_features);
        n_labels += chunk.n_labels;
        n_features += chunk.n_features;
    }
    rows.labels.resize(n_labels);
    rows.features.resize(n_features);
    rows.values.resize(n_features);
}

void append_number(std::string& text, int64_t number) {
    char digits[24];
    const auto result = std::to_chars(digits, digits + sizeof digits, number);
    text.append(digits, result.ptr);
}

void append_value(std::string& text, float value) {
    char digits[32];
#if defined(POLYSEME_READS_FLOATS)
    text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
#else
    char* const end = digits + std::snprintf(digits, sizeof digits, "%.9g", value);
    std::replace(digits, end, ',', '.');  // where the program's locale has a comma
    text.append(digits, end);
#endif
}

}  // namespace

TextRows parse_text(std::string_view text, const TextLimits& limits, int n_threads, RunControl& control,
                    int64_t chunk_size) {
    std::vector<Chunk> chunks = cut_at_line_ends(text, chunk_size);
    const auto n_chunks = static_cast<int64_t>(chunks.size());
    parallel_for(n_chunks, n_threads, control, [&](int64_t i, int) { count_entries(chunks[i]); });

    int64_t n_lines = 0;
    int64_t max_labels = 0;
    int64_t max_features = 0;
    for (Chunk& chunk : chunks) {
        chunk.first_line = std::exchange(n_lines, n_lines + chunk.n_lines);
        chunk.labels_at = std::exchange(max_labels, max_labels + chunk.max_labels);
        chunk.features_at = std::exchange(max_features, max_features + chunk.max_features);
    }
    TextRows rows;
    rows.label_starts.resize(n_lines + 1);
    rows.feature_starts.resize(n_lines + 1);
    rows.labels.resize(max_labels);
    rows.features.resize(max_features);
    rows.values.resize(max_features);

    // Everything before a bad chunk is still read: the message names the first bad line.
    std::atomic<int64_t> first_bad{n_chunks};
    parallel_for(n_chunks, n_threads, control, [&](int64_t i, int) {
        if (i > first_bad.load(std::memory_order_relaxed)) return;
        parse_chunk(chunks[i], limits, rows);
        if (!chunks[i].error) return;
        int64_t seen = first_bad.load();
        while (i < seen && !first_bad.compare_exchange_weak(seen, i)) {
        }
    });
    for (const Chunk& chunk : chunks)
        if (chunk.error) throw std::invalid_argument(*chunk.error);

    close_gaps(chunks, rows);
    std::partial_sum(rows.label_starts.begin(), rows.label_starts.end(), rows.label_starts.begin());
    std::partial_sum(rows.feature_starts.begin(), rows.feature_starts.end(), rows.feature_starts.begin());
    return rows;
}

std::string format_text(const MatrixView& features, const PatternView& labels) {
    std::string text;
    for (int64_t i = 0; i < features.n_rows; ++i) {
        bool is_first = true;
        for (const int32_t label : labels.row(i)) {
            if (!std::exchange(is_first, false)) text += ',';
            append_number(text, label);
        }
        const auto columns = features.row(i);
        const auto values = features.row_values(i);
        for (size_t e = 0; e < columns.size(); ++e) {
            text += ' ';
            append_number(text, columns[e]);
            text += ':';
            append_value(text, values[e]);
        }
        text += '\n';
    }
    return text;
}

}  // namespace polyseme
