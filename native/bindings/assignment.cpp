#include "assignment.hpp"

#include <algorithm>
#include <cmath>

#include "co_occurrence.hpp"
#include "sparse_arguments.hpp"

namespace polyseme::bindings {
namespace {

// Checked here; the kernels trust it.
AssignmentProblem problem_view(const Rows& co_occurrence, const In<int32_t>& counts, const Pattern& present,
                               const Pattern& label_rows, const Pattern& matched) {
    AssignmentProblem problem;
    const MatrixView scores = co_occurrence.view("co_occurrence");
    static_cast<PatternView&>(problem.candidates) = scores;
    require(counts.size() == co_occurrence.columns.size(),
            "co_occurrence: counts and scores differ in length");
    for (size_t e = 0; e < counts.size(); ++e)
        require(counts.data()[e] > 0 && std::isfinite(scores.values[e]),
                "co_occurrence: counts must be positive and scores finite");
    problem.candidates.counts = counts.data();
    problem.candidates.scores = scores.values;
    problem.present = present.view("present");
    problem.matched = matched.view("matched");
    problem.label_rows = label_rows.view("label_rows");
    require(problem.present.n_cols == scores.n_cols && problem.matched.n_cols == scores.n_cols,
            "co_occurrence, present and matched differ in clusters");
    require(problem.label_rows.n_cols == problem.matched.n_rows,
            "label_rows and matched differ in documents");
    require(problem.present.n_rows == problem.n_labels() && problem.label_rows.n_rows == problem.n_labels(),
            "co_occurrence, present and label_rows must have one row for each label");
    for (int64_t label = 0; label < problem.n_labels(); ++label)
        require(!problem.present.row(label).empty(), "present: a label is in no cluster");
    return problem;
}

nb::tuple to_python(ChosenClusters&& chosen) {
    return nb::make_tuple(to_numpy(std::move(chosen.starts)), to_numpy(std::move(chosen.clusters)));
}

// Every method is bound with the same arguments; it takes from them what it needs.
template <class Choose>
void bind_method(nb::module_& m, const char* name, Choose choose) {
    m.def(
        name,
        [choose](const Rows& co_occurrence, const In<int32_t>& counts, const Pattern& present,
                 const Pattern& label_rows, const Pattern& matched, int64_t copies, int64_t max_cluster_size,
                 int n_threads) {
            const auto problem = problem_view(co_occurrence, counts, present, label_rows, matched);
            const int64_t n_clusters = problem.candidates.n_cols;
            require(copies >= 1, "copies must be at least 1");
            require(max_cluster_size >= 1 && problem.n_labels() / max_cluster_size +
                                                     (problem.n_labels() % max_cluster_size != 0) <=
                                                 n_clusters,
                    "max_cluster_size is too small for every label to have a cluster");
            return to_python(run_released(nb::none(), [&](RunControl& control) {
                return choose(problem, std::min(copies, std::max<int64_t>(1, n_clusters)), max_cluster_size,
                              n_threads, control);
            }));
        },
        nb::arg("co_occurrence"), nb::arg("counts").noconvert(), nb::arg("present"), nb::arg("label_rows"),
        nb::arg("matched"), nb::kw_only(), nb::arg("copies"), nb::arg("max_cluster_size"),
        nb::arg("n_threads"));
}

}  // namespace

void bind_assignment(nb::module_& m) {
    m.def(
        "count_co_occurrence",
        [](const Pattern& labels, const Rows& matches, int n_threads, const nb::object& progress) {
            const auto label_rows = labels.view("label_rows");
            const auto matched = matches.view("matched");
            require(label_rows.n_cols == matched.n_rows, "label_rows and matched differ in documents");
            auto counted = run_released(progress, [&](RunControl& control) {
                return count_co_occurrence(label_rows, matched, n_threads, control);
            });
            return nb::make_tuple(to_numpy(std::move(counted.starts)), to_numpy(std::move(counted.clusters)),
                                  to_numpy(std::move(counted.counts)), to_numpy(std::move(counted.scores)));
        },
        nb::arg("label_rows"), nb::arg("matched"), nb::arg("n_threads"), nb::arg("progress").none());
    m.def(
        "count_reached",
        [](const Pattern& labels, const Pattern& matches, const Pattern& clusters, int n_threads) {
            const auto label_rows = labels.view("label_rows");
            const auto matched = matches.view("matched");
            const auto chosen = clusters.view("clusters");
            require(label_rows.n_cols == matched.n_rows, "label_rows and matched differ in documents");
            require(chosen.n_cols == matched.n_cols, "clusters and matched differ in clusters");
            require(chosen.n_rows == label_rows.n_rows,
                    "clusters and label_rows must have one row for each label");
            return run_released(nb::none(), [&](RunControl& control) {
                return count_reached(label_rows, matched, chosen, n_threads, control);
            });
        },
        nb::arg("label_rows"), nb::arg("matched"), nb::arg("clusters"), nb::arg("n_threads"));

    using Problem = const AssignmentProblem&;
    bind_method(m, "choose_closed_form",
                [](Problem problem, int64_t copies, int64_t, int n_threads, RunControl& control) {
                    return choose_closed_form(problem, copies, n_threads, control);
                });
    bind_method(m, "choose_coverage",
                [](Problem problem, int64_t copies, int64_t, int n_threads, RunControl& control) {
                    return choose_coverage(problem, copies, n_threads, control);
                });
    bind_method(m, "choose_capped",
                [](Problem problem, int64_t copies, int64_t size, int, RunControl& control) {
                    return choose_capped(problem, copies, size, control);
                });
    bind_method(m, "choose_adaptive",
                [](Problem problem, int64_t copies, int64_t size, int n_threads, RunControl& control) {
                    return choose_adaptive(problem, copies, size, n_threads, control);
                });
}

}  // namespace polyseme::bindings
