#include <algorithm>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "random.hpp"
#include "row_products.hpp"
#include "sense_induction.hpp"

using namespace polyseme;

namespace {

struct OwnedPattern {
    std::vector<int64_t> starts{0};
    std::vector<int32_t> columns;

    void end_row() { starts.push_back(std::ssize(columns)); }
    PatternView view(int64_t n_cols) const {
        PatternView found;
        found.n_rows = std::ssize(starts) - 1;
        found.n_cols = n_cols;
        found.starts = starts.data();
        found.columns = columns.data();
        return found;
    }
};

// Documents of two topics. Label 0 is in all of them, the others in one topic or the other; the last one
// in one document.
struct TwoTopics {
    int64_t n_documents, n_labels = 9, width;
    std::vector<float> documents, labels;
    OwnedPattern labels_of, documents_of;
    SenseProblem problem;

    TwoTopics(int64_t n, int64_t n_dimensions, uint64_t seed) : n_documents(n), width(n_dimensions) {
        Random random(seed);
        const auto make_row = [&](std::vector<float>& rows, int64_t topic) {
            double squares = 0;
            for (int64_t f = 0; f < width; ++f) {
                const float value = (f % 2 == topic ? 1.f : 0.f) + float(random.below(1000)) / 2000;
                rows.push_back(value);
                squares += double(value) * value;
            }
            for (int64_t f = std::ssize(rows) - width; f < std::ssize(rows); ++f)
                rows[f] /= static_cast<float>(std::sqrt(squares));
        };
        for (int64_t label = 0; label < n_labels; ++label) make_row(labels, label % 2);
        std::vector<std::vector<int32_t>> own(n_labels);
        for (int64_t i = 0; i < n_documents; ++i) {
            make_row(documents, i % 2);
            for (int32_t label = 0; label < n_labels; ++label) {
                const bool is_last = label == n_labels - 1;
                const bool has =
                    label == 0 || (is_last ? i == 2 : label % 2 == i % 2 && random.below(3) == 0);
                if (!has) continue;
                labels_of.columns.push_back(label);
                own[label].push_back(static_cast<int32_t>(i));
            }
            labels_of.end_row();
        }
        for (const auto& row : own) {
            documents_of.columns.insert(documents_of.columns.end(), row.begin(), row.end());
            documents_of.end_row();
        }
        problem.documents = documents.data();
        problem.labels = labels.data();
        problem.width = width;
        problem.labels_of = labels_of.view(n_labels);
        problem.documents_of = documents_of.view(n_documents);
    }
};

OwnedPattern all_labels(int64_t n_labels) {
    OwnedPattern groups;
    for (int32_t label = 0; label < n_labels; ++label) {
        groups.columns.push_back(label);
        groups.end_row();
    }
    groups.end_row();  // a group of nothing
    groups.columns.insert(groups.columns.end(), {2, 3});
    groups.end_row();
    return groups;
}

}  // namespace

TEST("a label of two topics divides by topic, and all its documents go to the nearer part") {
    for (const int64_t width : {2, 8, 13}) {
        const TwoTopics data(90, width, width);
        const auto groups = all_labels(data.n_labels);
        RunControl control;
        const auto found = split_groups(data.problem, groups.view(data.n_labels), 40, 1, 2, control);
        const int64_t n_looked_at = found.starts[1];
        CHECK(found.by_labels[0] == 1 && n_looked_at <= 40 && n_looked_at >= enough_with_labels);
        OwnedPattern looked_at;
        std::vector<int8_t> parts;
        for (int64_t i = 0; i < n_looked_at; ++i) {
            looked_at.columns.push_back(found.documents[i]);
            parts.push_back(found.parts[i * GroupSplits::n_counts]);
            CHECK((parts[i] == parts[0]) == ((found.documents[i] - found.documents[0]) % 2 == 0));
        }
        looked_at.end_row();
        const int32_t label = 0;
        const auto assigned = assign_documents(data.problem, &label, 1, looked_at.view(data.n_documents),
                                               parts.data(), 2, control);
        for (int64_t i = 0; i < data.n_documents; ++i) {
            CHECK((assigned.parts[i] == parts[0]) == ((i - found.documents[0]) % 2 == 0));
            CHECK(assigned.nearness[i] > 0.5f && assigned.nearness[i] < 1.001f);
        }
    }
}

TEST("groups divide the same for any number of threads") {
    const TwoTopics data(70, 11, 5);
    const auto groups = all_labels(data.n_labels);
    RunControl control;
    const auto one = split_groups(data.problem, groups.view(data.n_labels), 300, 1, 1, control);
    CHECK(std::ssize(one.starts) == data.n_labels + 3);
    CHECK(one.starts[data.n_labels + 1] == one.starts[data.n_labels]);
    for (const int n_threads : {2, 7}) {
        const auto found = split_groups(data.problem, groups.view(data.n_labels), 300, 1, n_threads, control);
        CHECK(found.starts == one.starts && found.documents == one.documents && found.parts == one.parts);
        CHECK(found.alikeness == one.alikeness && found.similarity == one.similarity);
    }
}

TEST("finding senses can be stopped") {
    const TwoTopics data(120, 16, 5);
    OwnedPattern groups;
    for (int i = 0; i < 5000; ++i) {
        groups.columns.push_back(0);
        groups.end_row();
    }
    RunControl control([](int64_t) { throw Interrupted(); });
    bool is_interrupted = false;
    try {
        split_groups(data.problem, groups.view(data.n_labels), 300, 1, 2, control);
    } catch (const Interrupted&) {
        is_interrupted = true;
    }
    CHECK(is_interrupted);
}

TEST("products of rows with a matrix, and with each other, are sums over their entries") {
    for (const int64_t width : {1, 7, 8, 64, 71, 137}) {
        for (const int64_t n_dense : {0, 3}) {
            Random random(width);
            const int64_t n_rows = 70, n_sparse = 9;
            const auto number = [&] { return float(random.below(2000)) / 1000 - 1; };
            OwnedPattern pattern;
            std::vector<float> values, dense(n_rows * n_dense), matrix((n_sparse + n_dense) * width);
            for (int64_t i = 0; i < n_rows; ++i) {
                for (int32_t column = 0; column < n_sparse; ++column) {
                    if (i % 5 == 0 || random.below(2) == 0) continue;
                    pattern.columns.push_back(column);
                    values.push_back(number());
                }
                pattern.end_row();
            }
            for (float& value : dense) value = number();
            for (float& value : matrix) value = number();
            DocumentsView rows;
            static_cast<PatternView&>(rows.sparse) = pattern.view(n_sparse);
            rows.sparse.values = values.data();
            rows.dense = dense.data();
            rows.n_dense = n_dense;
            RunControl control;
            std::vector<float> products(n_rows * width);
            multiply_rows(rows, matrix.data(), width, products.data(), 2, control);
            const auto entry = [&](int64_t i, int64_t column) {
                for (int64_t e = pattern.starts[i]; e < pattern.starts[i + 1]; ++e)
                    if (pattern.columns[e] == column) return double(values[e]);
                return 0.0;
            };
            std::vector<int64_t> first, second;
            for (int64_t i = 0; i < n_rows; ++i) {
                for (int64_t w = 0; w < width; ++w) {
                    double sum = 0;
                    for (int64_t c = 0; c < n_sparse; ++c) sum += entry(i, c) * matrix[c * width + w];
                    for (int64_t c = 0; c < n_dense; ++c)
                        sum += double(dense[i * n_dense + c]) * matrix[(n_sparse + c) * width + w];
                    CHECK(std::abs(products[i * width + w] - sum) < 1e-5);
                }
                for (int64_t j = 0; j < n_rows; ++j) {
                    first.push_back(i);
                    second.push_back(j);
                }
            }
            std::vector<double> of_pairs(first.size());
            multiply_pairs(rows.sparse, rows.sparse, first, second, of_pairs.data(), 2, control);
            for (size_t p = 0; p < first.size(); ++p) {
                double sum = 0;
                for (int64_t c = 0; c < n_sparse; ++c) sum += entry(first[p], c) * entry(second[p], c);
                CHECK(std::abs(of_pairs[p] - sum) < 1e-12);
            }
        }
    }
}
