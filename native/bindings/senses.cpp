// Senses: documents in a small space, how labels divide there, and what their parts have in common.
#include <algorithm>

#include "label_features.hpp"
#include "row_products.hpp"
#include "sense_induction.hpp"
#include "sparse_arguments.hpp"

namespace polyseme::bindings {

namespace {

template <class T>
using OutBlock = nb::ndarray<nb::numpy, T, nb::ndim<2>>;

template <class T>
OutBlock<T> to_block(std::vector<T>&& values, size_t n_columns) {
    auto* owner = new std::vector<T>(std::move(values));
    nb::capsule capsule(owner, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return OutBlock<T>(owner->data(), {n_columns == 0 ? 0 : owner->size() / n_columns, n_columns}, capsule);
}

OutBlock<float> multiply(const Documents& X, const Block& matrix, int n_threads) {
    const DocumentsView documents = X.view("X");
    const auto width = static_cast<int64_t>(matrix.shape(1));
    require(width >= 1 && static_cast<int64_t>(matrix.shape(0)) == documents.n_features(),
            "X and matrix differ in features");
    std::vector<float> products(documents.n_rows() * width);
    run_released(nb::none(), [&](RunControl& control) {
        multiply_rows(documents, matrix.data(), width, products.data(), n_threads, control);
        return 0;
    });
    return to_block(std::move(products), width);
}

Out<double> multiply_each(const Rows& a, const Rows& b, const In<int64_t>& rows_a, const In<int64_t>& rows_b,
                          int n_threads) {
    const MatrixView first = a.view("a"), second = b.view("b");
    require(first.n_cols == second.n_cols, "a and b differ in columns");
    require(rows_a.size() == rows_b.size(), "rows_a and rows_b differ in length");
    for (size_t i = 0; i < rows_a.size(); ++i)
        require(rows_a.data()[i] >= 0 && rows_a.data()[i] < first.n_rows && rows_b.data()[i] >= 0 &&
                    rows_b.data()[i] < second.n_rows,
                "a row number is out of range");
    std::vector<double> products(rows_a.size());
    run_released(nb::none(), [&](RunControl& control) {
        multiply_pairs(first, second, {rows_a.data(), rows_a.size()}, {rows_b.data(), rows_b.size()},
                       products.data(), n_threads, control);
        return 0;
    });
    return to_numpy(std::move(products));
}

SenseProblem problem_view(const Block& documents, const Block& labels, const Pattern& labels_of,
                          const Pattern& documents_of) {
    SenseProblem problem;
    problem.labels_of = labels_of.view("labels_of");
    problem.documents_of = documents_of.view("documents_of");
    problem.documents = documents.data();
    problem.labels = labels.data();
    problem.width = static_cast<int64_t>(documents.shape(1));
    require(static_cast<int64_t>(labels.shape(1)) == problem.width, "documents and labels differ in width");
    require(static_cast<int64_t>(documents.shape(0)) == problem.labels_of.n_rows &&
                problem.documents_of.n_cols == problem.labels_of.n_rows,
            "documents, labels_of and documents_of differ in documents");
    require(static_cast<int64_t>(labels.shape(0)) == problem.labels_of.n_cols &&
                problem.documents_of.n_rows == problem.labels_of.n_cols,
            "labels, labels_of and documents_of differ in labels");
    return problem;
}

nb::dict split(const Block& documents, const Block& labels, const Pattern& labels_of,
               const Pattern& documents_of, const Pattern& groups, int64_t max_documents, uint64_t seed,
               int n_threads, const nb::object& progress) {
    const SenseProblem problem = problem_view(documents, labels, labels_of, documents_of);
    const PatternView chosen = groups.view("groups");
    require(chosen.n_cols == problem.labels_of.n_cols, "groups and labels_of differ in labels");
    require(max_documents >= 2 && max_documents <= 10000, "max_documents must be from 2 to 10000");
    auto found = run_released(progress, [&](RunControl& control) {
        return split_groups(problem, chosen, max_documents, seed, n_threads, control);
    });
    constexpr size_t n_counts = GroupSplits::n_counts;
    nb::dict arrays;
    arrays["starts"] = to_numpy(std::move(found.starts));
    arrays["documents"] = to_numpy(std::move(found.documents));
    arrays["parts"] = to_block(std::move(found.parts), n_counts);
    arrays["alikeness"] = to_block(std::move(found.alikeness), n_counts);
    arrays["by_labels"] = to_numpy(std::move(found.by_labels));
    arrays["similarity"] = to_block(std::move(found.similarity), sizeof(TwoParts) / sizeof(float));
    return arrays;
}

nb::tuple assign(const Block& documents, const Block& labels, const Pattern& labels_of,
                 const Pattern& documents_of, const In<int32_t>& chosen, const Pattern& looked_at,
                 const In<int8_t>& parts, int n_threads) {
    const SenseProblem problem = problem_view(documents, labels, labels_of, documents_of);
    const PatternView known = looked_at.view("looked_at");
    require(known.n_rows == static_cast<int64_t>(chosen.size()) && known.n_cols == problem.labels_of.n_rows &&
                known.n_stored() == static_cast<int64_t>(parts.size()),
            "chosen, looked_at and parts do not fit together");
    for (size_t i = 0; i < chosen.size(); ++i)
        require(chosen.data()[i] >= 0 && chosen.data()[i] < problem.labels_of.n_cols,
                "a chosen label is out of range");
    for (size_t i = 0; i < parts.size(); ++i)
        require(parts.data()[i] >= 0 && parts.data()[i] < most_parts, "a part is out of range");
    auto found = run_released(nb::none(), [&](RunControl& control) {
        return assign_documents(problem, chosen.data(), static_cast<int64_t>(chosen.size()), known,
                                parts.data(), n_threads, control);
    });
    return nb::make_tuple(to_numpy(std::move(found.parts)), to_numpy(std::move(found.nearness)));
}

// What the documents of each group have most of, at unit length.
nb::tuple sum_up(const Documents& X, const Pattern& groups, int64_t max_features, int64_t max_documents,
                 int n_threads) {
    const DocumentsView documents = X.view("X");
    const PatternView rows = groups.view("groups");
    require(rows.n_cols == documents.n_rows(), "groups and X differ in documents");
    require(max_features >= 1 && max_documents >= 1, "a group needs a feature and a document at least");
    std::vector<int64_t> starts{0};
    std::vector<int32_t> columns;
    std::vector<float> values;
    run_released(nb::none(), [&](RunControl& control) {
        const auto found =
            aggregate_label_features(documents, rows, {max_features, max_documents}, n_threads, control);
        std::vector<std::pair<int32_t, float>> entries;
        for (const LabelRow& row : found.rows) {
            entries.clear();
            for (int64_t e = 0; e < row.size; ++e)
                entries.emplace_back(row.columns[e], row.values[e] * row.factor);
            std::sort(entries.begin(), entries.end());
            for (const auto& [column, value] : entries) {
                columns.push_back(column);
                values.push_back(value);
            }
            starts.push_back(std::ssize(columns));
        }
        return 0;
    });
    return nb::make_tuple(to_numpy(std::move(starts)), to_numpy(std::move(columns)),
                          to_numpy(std::move(values)));
}

}  // namespace

void bind_senses(nb::module_& m) {
    m.def("multiply_rows", &multiply, nb::arg("X"), nb::arg("matrix").noconvert(), nb::arg("n_threads"));
    m.def("multiply_pairs", &multiply_each, nb::arg("a"), nb::arg("b"), nb::arg("rows_a").noconvert(),
          nb::arg("rows_b").noconvert(), nb::arg("n_threads"));
    m.def("split_groups", &split, nb::arg("documents").noconvert(), nb::arg("labels").noconvert(),
          nb::arg("labels_of"), nb::arg("documents_of"), nb::arg("groups"), nb::kw_only(),
          nb::arg("max_documents"), nb::arg("seed"), nb::arg("n_threads"), nb::arg("progress").none());
    m.def("assign_documents", &assign, nb::arg("documents").noconvert(), nb::arg("labels").noconvert(),
          nb::arg("labels_of"), nb::arg("documents_of"), nb::arg("chosen").noconvert(), nb::arg("looked_at"),
          nb::arg("parts").noconvert(), nb::kw_only(), nb::arg("n_threads"));
    m.def("sum_up", &sum_up, nb::arg("X"), nb::arg("groups"), nb::kw_only(), nb::arg("max_features"),
          nb::arg("max_documents"), nb::arg("n_threads"));
}

}  // namespace polyseme::bindings
