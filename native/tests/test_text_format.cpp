#include <bit>
#include <cmath>
#include <random>
#include <stdexcept>
#include <string>

#include "check.hpp"
#include "text_format.hpp"

using namespace polyseme;

namespace {

TextRows parse(const std::string& text, int n_threads = 1, int64_t chunk_size = 1 << 20,
               TextLimits limits = {10, 10, 2}) {
    RunControl control;
    return parse_text(text, limits, n_threads, control, chunk_size);
}

std::string error_of(const std::string& text, int n_threads = 1, int64_t chunk_size = 1 << 20) {
    try {
        parse(text, n_threads, chunk_size);
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "";
}

bool begins(const std::string& text, const std::string& with) { return text.rfind(with, 0) == 0; }

template <class T>
bool equal(const Buffer<T>& a, std::initializer_list<T> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

TEST("lines become rows") {
    const auto rows = parse("1,3 0:0.5 7:2\n 2:-1.25\n5\n\n");
    CHECK((rows.label_starts == std::vector<int64_t>{0, 2, 2, 3, 3}));
    CHECK((rows.feature_starts == std::vector<int64_t>{0, 2, 3, 3, 3}));
    CHECK(equal<int32_t>(rows.labels, {1, 3, 5}));
    CHECK(equal<int32_t>(rows.features, {0, 7, 2}));
    CHECK(equal<float>(rows.values, {0.5f, 2.0f, -1.25f}));
}

TEST("unsorted and repeated entries, zeros, CRLF and trailing blanks are tidied") {
    const auto rows = parse("3,1,3 7:1 2:0 4:1 7:2 4:-1 \r\n4:1e0\t5:+2");
    CHECK((rows.label_starts == std::vector<int64_t>{0, 2, 2}));
    CHECK((rows.feature_starts == std::vector<int64_t>{0, 1, 3}));
    CHECK(equal<int32_t>(rows.labels, {1, 3}));
    CHECK(equal<int32_t>(rows.features, {7, 4, 5}));
    CHECK(equal<float>(rows.values, {3.0f, 1.0f, 2.0f}));
}

TEST("neighbours that are repeated count once, and values add up in the order of the line") {
    const auto rows = parse("3,3 4:1 4:2 5:3e8 5:-3e8 5:1");
    CHECK(equal<int32_t>(rows.labels, {3}));
    CHECK(equal<int32_t>(rows.features, {4, 5}));
    CHECK(equal<float>(rows.values, {3.0f, 1.0f}));
}

TEST("an empty text has no rows") { CHECK(parse("").label_starts.size() == 1); }

TEST("the first bad line is named whatever the threads and chunks") {
    std::string text;
    for (int i = 0; i < 300; ++i) text += i == 137 || i > 200 ? "1 5:x\n" : "1 5:0.25\n";
    for (int n_threads : {1, 4})
        for (int64_t chunk_size : {1, 50, 100'000})
            CHECK(begins(error_of(text, n_threads, chunk_size), "line 139: "));
}

TEST("malformed lines are refused") {
    for (const char* line : {"a",
                             "1,",
                             ",1",
                             "1,,2",
                             "1;2",
                             "-1",
                             "1 5",
                             "1 5:",
                             "1 :5",
                             "1 5:1:2",
                             "1 5:1,2",
                             "1 x:1",
                             "1 5:0x1p3",
                             "1 5:nan",
                             "1 5:-inf",
                             "1 5:1e39",
                             "1 10:1",
                             "10 5:1",
                             "1 -2:1",
                             "99999999999999999999 1:1",
                             "18446744073709551617 1:1",
                             "1 99999999999999999999:1",
                             "1 5:3e38 5:3e38",
                             "1 5:1e60",
                             "1 5:1e600",
                             "1 5:1e",
                             "1 5:.",
                             "1 5:-",
                             "1 5: 3",
                             "\xff\xfe 1:2"})
        CHECK(begins(error_of(line), "line 2: "));
}

TEST("chunks and threads do not change the result") {
    std::mt19937 random(7);
    std::string text;
    for (int i = 0; i < 500; ++i) {
        for (unsigned l = random() % 4; l > 0; --l)
            text += std::to_string(random() % 10) + (l > 1 ? "," : "");
        for (unsigned f = random() % 6; f > 0; --f)
            text.append(" ").append(std::to_string(random() % 10)).append(":3.25e-1");
        text += i % 3 ? "\n" : "\r\n";
    }
    const auto expected = parse(text);
    for (int n_threads : {1, 3})
        for (int64_t chunk_size : {1, 17, 1000}) {
            const auto rows = parse(text, n_threads, chunk_size);
            CHECK(rows.label_starts == expected.label_starts);
            CHECK(rows.feature_starts == expected.feature_starts);
            CHECK(rows.labels == expected.labels);
            CHECK(rows.features == expected.features);
            CHECK(rows.values == expected.values);
        }
}

TEST("values are rounded once, as by the standard library") {
    std::mt19937_64 random(11);
    std::string text;
    std::vector<float> expected;
    while (expected.size() < 200'000) {
        const std::string digits = std::to_string(random() >> (random() % 64));
        const size_t point = random() % (digits.size() + 1);
        std::string number = digits.substr(0, point).append(".").append(digits.substr(point));
        if (random() % 5 == 0) number.append("e-").append(std::to_string(random() % 30));
        const float value = std::strtof(number.c_str(), nullptr);
        if (value == 0) continue;
        expected.push_back(value);
        text.append("1 5:").append(number).append("\n");
    }
    const auto rows = parse(text);
    CHECK(std::equal(expected.begin(), expected.end(), rows.values.begin(), rows.values.end()));
    CHECK(parse("1 5:16777217").values[0] == 16777216.0f);  // half way, to even
    CHECK(parse("1 5:16777217.0000001").values[0] == 16777218.0f);
    CHECK(parse("1 5:8.000003337860107").values[0] ==
          8.00000286f);  // a double half way that was not so before
    CHECK(parse("1 5:18446744073709551617").values[0] == 0x1p64f);  // more than 64 bits hold
    CHECK(parse("1 5:1.5e-60").values.empty());
    CHECK(parse("1 5:1.5E-600").values.empty());
    CHECK(parse("1 5:-0." + std::string(400, '0') + "1").values.empty());
    CHECK(parse("1 5:1e-45").values[0] == 0x1p-149f);
}

TEST("what is written is read back bit by bit") {
    std::mt19937 random(3);
    std::vector<int64_t> feature_starts{0}, label_starts{0};
    std::vector<int32_t> features, labels;
    std::vector<float> values;
    for (int i = 0; i < 2000; ++i) {
        for (int column = 0; column < 10; ++column) {
            const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
            if (random() % 2 && std::isfinite(value) && value != 0) {
                features.push_back(column);
                values.push_back(value);
            }
            if (random() % 8 == 0) labels.push_back(column);
        }
        feature_starts.push_back(static_cast<int64_t>(features.size()));
        label_starts.push_back(static_cast<int64_t>(labels.size()));
    }
    MatrixView X;
    X.n_rows = 2000, X.n_cols = 10, X.starts = feature_starts.data();
    X.columns = features.data(), X.values = values.data();
    const PatternView Y{2000, 10, label_starts.data(), labels.data()};
    const auto rows = parse(format_text(X, Y), 2, 1000);
    CHECK(rows.feature_starts == feature_starts);
    CHECK(rows.label_starts == label_starts);
    CHECK(std::equal(features.begin(), features.end(), rows.features.begin(), rows.features.end()));
    CHECK(std::equal(values.begin(), values.end(), rows.values.begin(), rows.values.end()));
    CHECK(std::equal(labels.begin(), labels.end(), rows.labels.begin(), rows.labels.end()));
}
