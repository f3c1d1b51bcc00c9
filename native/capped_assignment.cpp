#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <queue>

#include "assignment.hpp"
#include "label_auction.hpp"

namespace polyseme {
namespace {

constexpr double kFineStep = 0.01;
constexpr double kCoarseStep = 1.0 / 16;  // enough to find a price nearby
constexpr int kMaxRuns = 30;
constexpr double kToleratedShare = 1e-3;
constexpr double kNarrow = 1e-5;

// Turns the outcome of an auction into a complete assignment: every label somewhere, no cluster
// beyond its size.
class Completion {
  public:
    Completion(const AssignmentProblem& problem, const LabelAuction& auction, int64_t copies,
               int64_t max_cluster_size)
        : problem_(problem), auction_(auction), copies_(copies), holds_(problem.candidates.n_stored()),
          n_held_(problem.n_labels()), room_(problem.n_clusters()) {
        for (int64_t e = 0; e < problem.candidates.n_stored(); ++e) holds_[e] = auction.holds(e);
        for (int64_t label = 0; label < problem.n_labels(); ++label) n_held_[label] = auction.n_held(label);
        for (int32_t cluster = 0; cluster < problem.n_clusters(); ++cluster)
            room_[cluster] = max_cluster_size - auction.cluster_size(cluster);
    }

    // Places missing for the labels that hold none. Only slots beyond a label's first can give way.
    int64_t n_missing() const {
        const int64_t n_without = std::count(n_held_.begin(), n_held_.end(), 0);
        return n_without - std::accumulate(room_.begin(), room_.end(), int64_t{0});
    }

    // Gives up the extra slots that gain least.
    void drop_extra_slots(int64_t n_dropped) {
        struct Extra {
            double net;
            int32_t label;
            int64_t entry;
            bool operator<(const Extra& o) const { return net != o.net ? net < o.net : entry > o.entry; }
        };
        std::vector<Extra> extras;
        for (int32_t label = 0; label < problem_.n_labels(); ++label) {
            if (n_held_[label] < 2) continue;
            const auto first = extras.size();
            for (int64_t e = begin(label); e < end(label); ++e)
                if (holds_[e]) extras.push_back({auction_.net(e), label, e});
            extras.erase(std::max_element(extras.begin() + first, extras.end()));
        }
        std::nth_element(extras.begin(), extras.begin() + n_dropped - 1, extras.end());
        for (int64_t i = 0; i < n_dropped; ++i) {
            holds_[extras[i].entry] = 0;
            --n_held_[extras[i].label];
            ++room_[problem_.candidates.columns[extras[i].entry]];
        }
    }

    // Candidates with room, the highest counts first, for labels with fewer than `n_wanted` slots.
    void fill_room(int64_t n_wanted) {
        struct Wish {
            int32_t count;
            int32_t label;
            int64_t entry;
        };
        std::vector<Wish> wishes;
        for (int32_t label = 0; label < problem_.n_labels(); ++label)
            for (int64_t e = begin(label); e < end(label) && n_held_[label] < n_wanted; ++e)
                if (!holds_[e] && has_room(e)) wishes.push_back({problem_.candidates.counts[e], label, e});
        std::sort(wishes.begin(), wishes.end(), [&](const Wish& wish, const Wish& other) {
            if (wish.count != other.count) return wish.count > other.count;
            if (wish.label != other.label) return wish.label < other.label;
            return problem_.wins_tie(wish.label, wish.entry, other.entry);
        });
        for (const auto& [count, label, entry] : wishes) {
            if (n_held_[label] >= n_wanted || !has_room(entry)) continue;
            holds_[entry] = 1;
            ++n_held_[label];
            --room_[problem_.candidates.columns[entry]];
        }
    }

    // The labels that no candidate has room for: their present cluster, or where most room is.
    void place_others() {
        std::vector<Slot> at_home;
        std::vector<int32_t> homeless;
        for (int32_t label = 0; label < problem_.n_labels(); ++label) {
            if (n_held_[label] > 0) continue;
            const auto present = problem_.present.row(label);
            const auto home = std::find_if(present.begin(), present.end(),
                                           [&](int32_t cluster) { return room_[cluster] > 0; });
            if (home == present.end()) {
                homeless.push_back(label);
            } else {
                take_elsewhere(label, *home);
                at_home.push_back({label, *home});
            }
        }
        settle(homeless);
        // A label that was never matched keeps its other present clusters too.
        for (const auto& [label, home] : at_home) {
            if (problem_.candidates.n_candidates(label) > 0) continue;
            for (const int32_t cluster : problem_.present.row(label))
                if (cluster != home && room_[cluster] > 0 && n_held_[label] < copies_)
                    take_elsewhere(label, cluster);
        }
    }

    int64_t total_count() const {
        int64_t total = 0;
        for (int64_t e = 0; e < problem_.candidates.n_stored(); ++e)
            if (holds_[e]) total += problem_.candidates.counts[e];
        return total;
    }

    ChosenClusters chosen() {
        std::sort(elsewhere_.begin(), elsewhere_.end());
        ChosenClusters chosen;
        chosen.starts.push_back(0);
        auto next = elsewhere_.begin();
        for (int32_t label = 0; label < problem_.n_labels(); ++label) {
            const auto first = static_cast<int64_t>(chosen.clusters.size());
            for (int64_t e = begin(label); e < end(label); ++e)
                if (holds_[e]) chosen.clusters.push_back(problem_.candidates.columns[e]);
            for (; next != elsewhere_.end() && next->label == label; ++next)
                chosen.clusters.push_back(next->cluster);
            std::sort(chosen.clusters.begin() + first, chosen.clusters.end());
            chosen.starts.push_back(static_cast<int64_t>(chosen.clusters.size()));
        }
        return chosen;
    }

  private:
    struct Slot {
        int32_t label;
        int32_t cluster;
        auto operator<=>(const Slot&) const = default;
    };

    int64_t begin(int64_t label) const { return problem_.candidates.starts[label]; }
    int64_t end(int64_t label) const { return problem_.candidates.starts[label + 1]; }
    bool has_room(int64_t entry) const { return room_[problem_.candidates.columns[entry]] > 0; }

    // A place in a cluster that is no candidate of the label.
    void take_elsewhere(int32_t label, int32_t cluster) {
        elsewhere_.push_back({label, cluster});
        ++n_held_[label];
        --room_[cluster];
    }

    void settle(const std::vector<int32_t>& labels) {
        struct Room {
            int64_t room;
            int32_t cluster;
            bool operator<(const Room& o) const {
                return room != o.room ? room < o.room : cluster > o.cluster;
            }
        };
        std::priority_queue<Room> rooms;
        for (int32_t cluster = 0; cluster < problem_.n_clusters() && !labels.empty(); ++cluster)
            rooms.push({room_[cluster], cluster});
        for (const int32_t label : labels) {
            const int32_t cluster = rooms.top().cluster;
            rooms.pop();
            take_elsewhere(label, cluster);
            rooms.push({room_[cluster], cluster});
        }
    }

    const AssignmentProblem& problem_;
    const LabelAuction& auction_;
    int64_t copies_;
    std::vector<char> holds_;      // by entry of the co-occurrence
    std::vector<int32_t> n_held_;  // by label, places elsewhere included
    std::vector<int64_t> room_;    // by cluster
    std::vector<Slot> elsewhere_;  // places that cover no document
};

// A label without a slot can always be put where there is room, so the one thing that ties labels
// together, besides the size of clusters, is the number of extra slots: all places less one for
// each label. Where the auction hands out more of them, they are given a price.
ChosenClusters solve(const AssignmentProblem& problem, int64_t copies, int64_t max_cluster_size,
                     const RunControl& control) {
    const int64_t n_extra = problem.n_clusters() * max_cluster_size - problem.n_labels();
    copies = std::min(copies, 1 + n_extra);
    LabelAuction auction(problem, copies, max_cluster_size);
    ChosenClusters best;
    int64_t most = -1;
    // Keeps the outcome if it is the best so far; returns how many places labels lacked.
    const auto n_missing_at = [&](double extra_price, double step) {
        auction.run(extra_price, step, control);
        Completion completion(problem, auction, copies, max_cluster_size);
        const int64_t n_missing = completion.n_missing();
        if (n_missing > 0) completion.drop_extra_slots(n_missing);
        completion.fill_room(1);
        completion.place_others();
        completion.fill_room(copies);
        const int64_t total = completion.total_count();
        if (total > most) {
            most = total;
            best = completion.chosen();
        }
        return n_missing;
    };

    const auto find_price = [&](double price, double growth, double step) {
        double low = 0;
        double high = std::numeric_limits<double>::infinity();
        for (int run = 0; run < kMaxRuns; ++run) {
            const int64_t n_missing = n_missing_at(price, step);
            // What is missing, times its price, bounds what a better price could still bring.
            const double loss = static_cast<double>(std::abs(n_missing)) * price;
            if (loss <= kToleratedShare * static_cast<double>(most)) break;
            (n_missing > 0 ? low : high) = price;
            if (high - low < kNarrow * high) break;
            if (std::isinf(high)) price *= growth;
            else price = low == 0 ? price / growth : (low + high) / 2;
        }
        return price;
    };

    if (n_missing_at(0, kFineStep) <= 0) return best;
    const double nearly = find_price(1, 2, kCoarseStep);
    find_price(nearly, 1 + kCoarseStep, kFineStep);
    return best;
}

}  // namespace

ChosenClusters choose_capped(const AssignmentProblem& problem, int64_t copies, int64_t max_cluster_size,
                             RunControl& control) {
    ChosenClusters chosen;
    const int64_t size = std::min(max_cluster_size, problem.n_labels());
    // One item: the auction is sequential, but the caller can watch and stop it.
    parallel_for(1, 1, control, [&](int64_t, int) { chosen = solve(problem, copies, size, control); });
    return chosen;
}

}  // namespace polyseme
