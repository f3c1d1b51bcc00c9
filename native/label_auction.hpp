// An auction of places in clusters of limited size.
//
// Labels bid for their best clusters, counts less prices; a full cluster throws out its lowest bid,
// and that label bids again. Every bid raises a label's offer by at least `step` times its count,
// so that the outcome is within that share of the best and no pair bids more than 1 / step times.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assignment.hpp"

namespace polyseme {

class LabelAuction {
  public:
    LabelAuction(const AssignmentProblem& problem, int64_t copies, int64_t max_cluster_size);

    // Starts over. A label pays `extra_price`, in counts, for each slot but its first.
    void run(double extra_price, double step, const RunControl& control);

    bool holds(int64_t entry) const { return holds_[entry] != 0; }
    int32_t n_held(int64_t label) const { return n_held_[label]; }
    int64_t cluster_size(int32_t cluster) const { return n_bids_[cluster]; }
    // What a label gains by a place there: its count less the price of the cluster.
    double net(int64_t entry) const {
        return problem_.candidates.counts[entry] - prices_[problem_.candidates.columns[entry]];
    }

  private:
    struct Bid {
        double amount;
        int32_t label;
        int32_t position;  // of the candidate within the label
    };
    struct Offer {
        double net;
        int64_t entry;
    };

    void bid_for_free_slots(int32_t label);
    void find_best_offers(int32_t label, size_t n_wanted);
    void place(int32_t cluster, const Bid& bid);
    bool is_higher(const Bid& bid, const Bid& other) const;
    int64_t entry_of(const Bid& bid) const { return problem_.candidates.starts[bid.label] + bid.position; }

    const AssignmentProblem& problem_;
    int64_t copies_;
    double extra_price_ = 0;
    double step_ = 0;
    std::vector<int64_t> bid_starts_;  // by cluster: as many places as can ever be taken
    std::vector<Bid> bids_;            // a heap for each cluster, the lowest bid in front
    std::vector<int64_t> n_bids_;      // by cluster
    std::vector<double> prices_;       // by cluster: the lowest bid of a full one, else 0
    std::vector<char> is_limited_;     // by cluster: more labels may want it than it takes
    std::vector<char> holds_;          // by entry of the co-occurrence
    std::vector<int32_t> n_held_;      // by label
    std::vector<char> is_waiting_;     // by label
    std::vector<int32_t> waiting_;     // labels that were thrown out and bid in the next round
    std::vector<Offer> offers_;        // scratch
};

}  // namespace polyseme
