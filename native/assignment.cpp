#include "assignment.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "label_cover.hpp"

namespace polyseme {
namespace {

constexpr int64_t kLabelsPerChunk = 256;

// Calls choose(label, worker, out) for every label; `out` are its places, at most `copies`. A label
// that was never matched keeps its present clusters.
template <class Choose>
ChosenClusters for_each_label(const AssignmentProblem& problem, int64_t copies, int n_threads,
                              RunControl& control, Choose&& choose) {
    const int64_t n_labels = problem.n_labels();
    ChosenClusters chosen;
    chosen.starts.assign(n_labels + 1, 0);
    for (int64_t label = 0; label < n_labels; ++label) {
        const int64_t n_candidates = problem.candidates.n_candidates(label);
        const auto n_present = static_cast<int64_t>(problem.present.row(label).size());
        chosen.starts[label + 1] =
            chosen.starts[label] + std::min(copies, n_candidates > 0 ? n_candidates : n_present);
    }
    chosen.clusters.resize(chosen.starts.back());
    const int64_t n_chunks = (n_labels + kLabelsPerChunk - 1) / kLabelsPerChunk;
    parallel_for(n_chunks, n_threads, control, [&](int64_t chunk, int worker) {
        const int64_t end = std::min(n_labels, (chunk + 1) * kLabelsPerChunk);
        for (int64_t label = chunk * kLabelsPerChunk; label < end; ++label) {
            control.throw_if_stopped();
            const std::span out(chosen.clusters.begin() + chosen.starts[label],
                                chosen.clusters.begin() + chosen.starts[label + 1]);
            if (problem.candidates.n_candidates(label) == 0) {
                std::copy_n(problem.present.row(label).begin(), out.size(), out.begin());
            } else {
                choose(label, worker, out);
                std::sort(out.begin(), out.end());
            }
        }
    });
    return chosen;
}

void choose_best_cover(LabelCover& cover, std::span<int32_t> out) {
    const auto n_slots = static_cast<int32_t>(out.size());
    if (n_slots == 1 || n_slots == cover.n_ranks()) {
        for (int32_t rank = 0; rank < n_slots; ++rank) out[rank] = cover.cluster(rank);
        return;
    }
    if (n_slots == 2) {
        const auto [first, second] = cover.best_pair();
        out[0] = cover.cluster(first);
        out[1] = cover.cluster(second);
        return;
    }
    int32_t n_covered = 0;
    for (int32_t rank = 0; rank < n_slots; ++rank) n_covered += cover.cover(rank);
    for (int32_t rank = 0; rank < n_slots; ++rank) out[rank] = cover.cluster(rank);

    cover.uncover_all();
    std::vector<char> is_taken(cover.n_ranks());
    std::vector<int32_t> greedy;
    int32_t n_covered_greedily = 0;
    while (static_cast<int32_t>(greedy.size()) < n_slots) {
        int32_t best = -1;
        for (int32_t rank = 0; rank < cover.n_ranks(); ++rank)
            if (!is_taken[rank] && (best < 0 || cover.gain(rank) > cover.gain(best))) best = rank;
        is_taken[best] = 1;
        greedy.push_back(cover.cluster(best));
        n_covered_greedily += cover.cover(best);
    }
    if (n_covered_greedily > n_covered) std::copy(greedy.begin(), greedy.end(), out.begin());
}

}  // namespace

bool AssignmentProblem::is_present(int64_t label, int32_t cluster) const {
    const auto clusters = present.row(label);
    return std::binary_search(clusters.begin(), clusters.end(), cluster);
}

bool AssignmentProblem::wins_tie(int64_t label, int64_t entry, int64_t other) const {
    if (candidates.scores[entry] != candidates.scores[other])
        return candidates.scores[entry] > candidates.scores[other];
    const int32_t cluster = candidates.columns[entry];
    const int32_t other_cluster = candidates.columns[other];
    const bool stays = is_present(label, cluster);
    if (stays != is_present(label, other_cluster)) return stays;
    return cluster < other_cluster;
}

bool AssignmentProblem::comes_first(int64_t label, int64_t entry, int64_t other) const {
    if (candidates.counts[entry] != candidates.counts[other])
        return candidates.counts[entry] > candidates.counts[other];
    return wins_tie(label, entry, other);
}

ChosenClusters choose_closed_form(const AssignmentProblem& problem, int64_t copies, int n_threads,
                                  RunControl& control) {
    std::vector<std::vector<int64_t>> entries_of_worker(std::max(1, n_threads));
    return for_each_label(
        problem, copies, n_threads, control, [&](int64_t label, int worker, std::span<int32_t> out) {
            auto& entries = entries_of_worker[worker];
            entries.resize(problem.candidates.n_candidates(label));
            std::iota(entries.begin(), entries.end(), problem.candidates.starts[label]);
            std::partial_sort(
                entries.begin(), entries.begin() + out.size(), entries.end(),
                [&](int64_t entry, int64_t other) { return problem.comes_first(label, entry, other); });
            for (size_t i = 0; i < out.size(); ++i) out[i] = problem.candidates.columns[entries[i]];
        });
}

ChosenClusters choose_coverage(const AssignmentProblem& problem, int64_t copies, int n_threads,
                               RunControl& control) {
    std::vector<std::optional<LabelCover>> cover_of_worker(std::max(1, n_threads));
    return for_each_label(problem, copies, n_threads, control,
                          [&](int64_t label, int worker, std::span<int32_t> out) {
                              auto& cover = cover_of_worker[worker];
                              if (!cover) cover.emplace(problem);
                              cover->load(label);
                              choose_best_cover(*cover, out);
                          });
}

}  // namespace polyseme
