#include <algorithm>
#include <numeric>
#include <optional>

#include "assignment.hpp"
#include "label_cover.hpp"

namespace polyseme {
namespace {

constexpr int64_t kLabelsPerChunk = 256;

// A slot that a label would like to have besides those it has.
struct Wish {
    int32_t gain;  // documents that it covers and the label's slots before it do not
    float score;
    int32_t label;
    int32_t cluster;
};

bool comes_first(const Wish& wish, const Wish& other) {
    if (wish.gain != other.gain) return wish.gain > other.gain;
    if (wish.score != other.score) return wish.score > other.score;
    if (wish.label != other.label) return wish.label < other.label;
    return wish.cluster < other.cluster;
}

// The label's greedy cover, continued from its slots over clusters with room until nothing is left
// to gain. Gains never increase along the way.
void append_wishes(const AssignmentProblem& problem, int32_t label, const std::vector<int32_t>& slots,
                   const std::vector<int64_t>& room, LabelCover& cover, std::vector<Wish>& wishes) {
    cover.load(label);
    const auto candidates = problem.candidates.row(label);
    for (const int32_t cluster : slots)
        if (std::binary_search(candidates.begin(), candidates.end(), cluster))
            cover.cover(cover.rank_of(cluster));
    for (;;) {
        int32_t best = -1;
        for (int32_t rank = 0; rank < cover.n_ranks(); ++rank)
            if (cover.gain(rank) > (best < 0 ? 0 : cover.gain(best)) && room[cover.cluster(rank)] > 0)
                best = rank;
        if (best < 0) return;
        const float score = problem.candidates.scores[cover.entry(best)];
        wishes.push_back({cover.gain(best), score, label, cover.cluster(best)});
        cover.cover(best);
    }
}

}  // namespace

ChosenClusters choose_adaptive(const AssignmentProblem& problem, int64_t copies, int64_t max_cluster_size,
                               int n_threads, RunControl& control) {
    const int64_t n_labels = problem.n_labels();
    const ChosenClusters first_slots = choose_capped(problem, 1, max_cluster_size, control);
    std::vector<std::vector<int32_t>> slots(n_labels);
    std::vector<int64_t> room(problem.n_clusters(), max_cluster_size);
    for (int64_t label = 0; label < n_labels; ++label) {
        for (auto s = first_slots.starts[label]; s < first_slots.starts[label + 1]; ++s) {
            slots[label].push_back(first_slots.clusters[s]);
            --room[first_slots.clusters[s]];
        }
    }
    int64_t budget = copies * n_labels - static_cast<int64_t>(first_slots.clusters.size());

    std::vector<std::optional<LabelCover>> cover_of_worker(std::max(1, n_threads));
    std::vector<int32_t> wishing(n_labels);
    std::iota(wishing.begin(), wishing.end(), 0);
    while (budget > 0 && !wishing.empty()) {
        const auto n_wishing = static_cast<int64_t>(wishing.size());
        const int64_t n_chunks = (n_wishing + kLabelsPerChunk - 1) / kLabelsPerChunk;
        std::vector<std::vector<Wish>> parts(n_chunks);
        parallel_for(n_chunks, n_threads, control, [&](int64_t chunk, int worker) {
            auto& cover = cover_of_worker[worker];
            if (!cover) cover.emplace(problem);
            const int64_t end = std::min(n_wishing, (chunk + 1) * kLabelsPerChunk);
            for (int64_t i = chunk * kLabelsPerChunk; i < end; ++i) {
                control.throw_if_stopped();
                append_wishes(problem, wishing[i], slots[wishing[i]], room, *cover, parts[chunk]);
            }
        });
        std::vector<Wish> wishes;
        for (auto& part : parts) {
            wishes.insert(wishes.end(), part.begin(), part.end());
            part = {};
        }
        std::sort(wishes.begin(), wishes.end(), comes_first);

        // Labels whose cluster filled up in the meantime look for others in the next round.
        wishing.clear();
        for (const Wish& wish : wishes) {
            if (budget == 0) break;
            if (room[wish.cluster] == 0) {
                wishing.push_back(wish.label);
                continue;
            }
            slots[wish.label].push_back(wish.cluster);
            --room[wish.cluster];
            --budget;
        }
        std::sort(wishing.begin(), wishing.end());
        wishing.erase(std::unique(wishing.begin(), wishing.end()), wishing.end());
    }

    ChosenClusters chosen;
    chosen.starts.push_back(0);
    for (auto& clusters : slots) {
        std::sort(clusters.begin(), clusters.end());
        chosen.clusters.insert(chosen.clusters.end(), clusters.begin(), clusters.end());
        chosen.starts.push_back(static_cast<int64_t>(chosen.clusters.size()));
    }
    return chosen;
}

}  // namespace polyseme
