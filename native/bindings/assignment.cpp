#include "assignment.hpp"

#include <algorithm>
#include <cmath>

#include "arrays.hpp"
#include "co_occurrence.hpp"

namespace polyseme::bindings {
namespace {

// Checked here; the kernels trust it.
AssignmentProblem problem_view(const In<int64_t>& starts, const In<int32_t>& clusters,
                               const In<int32_t>& counts, const In<float>& scores,
                               const In<int64_t>& present_starts,
                               const In<int32_t>& present_clusters,
                               const In<int64_t>& label_starts, const In<int32_t>& label_documents,
                               const In<int64_t>& matched_starts,
                               const In<int32_t>& matched_clusters, int64_t n_clusters) {
    AssignmentProblem problem;
    static_cast<PatternView&>(problem.candidates) =
        pattern_view(starts, clusters, n_clusters, "co_occurrence");
    require(counts.size() == clusters.size() && scores.size() == clusters.size(),
            "co_occurrence: counts, scores and clusters differ in length");
    for (size_t e = 0; e < counts.size(); ++e)
        require(counts.data()[e] > 0 && std::isfinite(scores.data()[e]),
                "co_occurrence: counts must be positive and scores finite");
    problem.candidates.counts = counts.data();
    problem.candidates.scores = scores.data();
    problem.present = pattern_view(present_starts, present_clusters, n_clusters, "present");
    problem.matched = pattern_view(matched_starts, matched_clusters, n_clusters, "matched");
    problem.label_rows =
        pattern_view(label_starts, label_documents, problem.matched.n_rows, "label_rows");
    require(problem.present.n_rows == problem.n_labels() &&
                problem.label_rows.n_rows == problem.n_labels(),
            "co_occurrence, present and label_rows must have one row for each label");
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
        [choose](In<int64_t> starts, In<int32_t> clusters, In<int32_t> counts, In<float> scores,
                 In<int64_t> present_starts, In<int32_t> present_clusters,
                 In<int64_t> label_starts, In<int32_t> label_documents,
                 In<int64_t> matched_starts, In<int32_t> matched_clusters, int64_t n_clusters,
                 int64_t copies, int64_t max_cluster_size, int n_threads) {
            const auto problem = problem_view(starts, clusters, counts, scores, present_starts,
                                              present_clusters, label_starts, label_documents,
                                              matched_starts, matched_clusters, n_clusters);
            require(copies >= 1, "copies must be at least 1");
            require(max_cluster_size >= 1 &&
                        problem.n_labels() / max_cluster_size +
                                (problem.n_labels() % max_cluster_size != 0) <=
                            n_clusters,
                    "max_cluster_size is too small for every label to have a cluster");
            return to_python(run_released(nb::none(), [&](RunControl& control) {
                return choose(problem, std::min(copies, std::max<int64_t>(1, n_clusters)),
                              max_cluster_size, n_threads, control);
            }));
        },
        nb::arg("starts").noconvert(), nb::arg("clusters").noconvert(),
        nb::arg("counts").noconvert(), nb::arg("scores").noconvert(),
        nb::arg("present_starts").noconvert(), nb::arg("present_clusters").noconvert(),
        nb::arg("label_starts").noconvert(), nb::arg("label_documents").noconvert(),
        nb::arg("matched_starts").noconvert(), nb::arg("matched_clusters").noconvert(),
        nb::arg("n_clusters"), nb::arg("copies"), nb::arg("max_cluster_size"),
        nb::arg("n_threads"));
}

}  // namespace

void bind_assignment(nb::module_& m) {
    m.def(
        "count_co_occurrence",
        [](In<int64_t> label_starts, In<int32_t> label_documents, In<int64_t> matched_starts,
           In<int32_t> matched_clusters, In<float> matched_scores, int64_t n_clusters,
           int n_threads, nb::object progress) {
            const auto matched = matrix_view(matched_starts, matched_clusters, matched_scores,
                                             n_clusters, "matched");
            const auto label_rows =
                pattern_view(label_starts, label_documents, matched.n_rows, "label_rows");
            auto counted = run_released(progress, [&](RunControl& control) {
                return count_co_occurrence(label_rows, matched, n_threads, control);
            });
            return nb::make_tuple(
                to_numpy(std::move(counted.starts)), to_numpy(std::move(counted.clusters)),
                to_numpy(std::move(counted.counts)), to_numpy(std::move(counted.scores)));
        },
        nb::arg("label_starts").noconvert(), nb::arg("label_documents").noconvert(),
        nb::arg("matched_starts").noconvert(), nb::arg("matched_clusters").noconvert(),
        nb::arg("matched_scores").noconvert(), nb::arg("n_clusters"), nb::arg("n_threads"),
        nb::arg("progress").none());
    m.def(
        "count_reached",
        [](In<int64_t> label_starts, In<int32_t> label_documents, In<int64_t> matched_starts,
           In<int32_t> matched_clusters, In<int64_t> chosen_starts, In<int32_t> chosen_clusters,
           int64_t n_clusters, int n_threads) {
            const auto matched =
                pattern_view(matched_starts, matched_clusters, n_clusters, "matched");
            const auto label_rows =
                pattern_view(label_starts, label_documents, matched.n_rows, "label_rows");
            const auto chosen = pattern_view(chosen_starts, chosen_clusters, n_clusters, "clusters");
            require(chosen.n_rows == label_rows.n_rows,
                    "clusters and label_rows must have one row for each label");
            return run_released(nb::none(), [&](RunControl& control) {
                return count_reached(label_rows, matched, chosen, n_threads, control);
            });
        },
        nb::arg("label_starts").noconvert(), nb::arg("label_documents").noconvert(),
        nb::arg("matched_starts").noconvert(), nb::arg("matched_clusters").noconvert(),
        nb::arg("chosen_starts").noconvert(), nb::arg("chosen_clusters").noconvert(),
        nb::arg("n_clusters"), nb::arg("n_threads"));

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
                [](Problem problem, int64_t copies, int64_t size, int n_threads,
                   RunControl& control) {
                    return choose_adaptive(problem, copies, size, n_threads, control);
                });
}

}  // namespace polyseme::bindings
