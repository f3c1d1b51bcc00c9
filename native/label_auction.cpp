#include "label_auction.hpp"

#include <algorithm>
#include <numeric>

namespace polyseme {

LabelAuction::LabelAuction(const AssignmentProblem& problem, int64_t copies, int64_t max_cluster_size)
    : problem_(problem), copies_(std::min(copies, problem.n_clusters())),
      bid_starts_(problem.n_clusters() + 1), n_bids_(problem.n_clusters()), prices_(problem.n_clusters()),
      is_limited_(problem.n_clusters()), holds_(problem.candidates.n_stored()), n_held_(problem.n_labels()),
      is_waiting_(problem.n_labels()) {
    for (int64_t e = 0; e < problem.candidates.n_stored(); ++e)
        ++bid_starts_[problem.candidates.columns[e] + 1];
    for (int64_t cluster = 0; cluster < problem.n_clusters(); ++cluster) {
        int64_t& n_places = bid_starts_[cluster + 1];
        is_limited_[cluster] = n_places > max_cluster_size;
        n_places = std::min(n_places, max_cluster_size);
    }
    std::partial_sum(bid_starts_.begin(), bid_starts_.end(), bid_starts_.begin());
    bids_.resize(bid_starts_.back());
}

void LabelAuction::run(double extra_price, double step, const RunControl& control) {
    extra_price_ = extra_price;
    step_ = step;
    std::fill(n_bids_.begin(), n_bids_.end(), 0);
    std::fill(prices_.begin(), prices_.end(), 0.0);
    std::fill(holds_.begin(), holds_.end(), 0);
    std::fill(n_held_.begin(), n_held_.end(), 0);

    std::vector<int32_t> bidding(problem_.n_labels());
    std::iota(bidding.begin(), bidding.end(), 0);
    std::fill(is_waiting_.begin(), is_waiting_.end(), 1);
    while (!bidding.empty()) {
        for (size_t i = 0; i < bidding.size(); ++i) {
            if (i % 1024 == 0) control.throw_if_stopped();
            is_waiting_[bidding[i]] = 0;
            bid_for_free_slots(bidding[i]);
        }
        bidding.clear();
        bidding.swap(waiting_);
    }
}

void LabelAuction::bid_for_free_slots(int32_t label) {
    const auto n_free = static_cast<size_t>(copies_ - n_held_[label]);
    find_best_offers(label, n_free + 1);
    const int32_t n_held = n_held_[label];
    // A little more for each label than for the one before: not all change their mind at once.
    const double extra_price = extra_price_ * (1 + step_ * label / static_cast<double>(problem_.n_labels()));
    size_t n_taken = 0;
    while (n_taken < std::min(n_free, offers_.size()) &&
           offers_[n_taken].net > (n_held + n_taken > 0 ? extra_price : 0.0))
        ++n_taken;

    // What the label would fall back on: the next cluster, or one slot fewer.
    double fallback = n_held + n_taken > 1 ? extra_price : 0.0;
    if (n_taken < offers_.size()) fallback = std::max(fallback, offers_[n_taken].net);
    for (size_t i = 0; i < n_taken; ++i) {
        const int64_t entry = offers_[i].entry;
        const double amount = problem_.candidates.counts[entry] * (1 + step_) - fallback;
        const auto position = static_cast<int32_t>(entry - problem_.candidates.starts[label]);
        holds_[entry] = 1;
        ++n_held_[label];
        place(problem_.candidates.columns[entry], {amount, label, position});
    }
}

void LabelAuction::find_best_offers(int32_t label, size_t n_wanted) {
    const auto is_better = [&](const Offer& offer, const Offer& other) {
        if (offer.net != other.net) return offer.net > other.net;
        return problem_.wins_tie(label, offer.entry, other.entry);
    };
    offers_.clear();
    const auto& candidates = problem_.candidates;
    for (int64_t e = candidates.starts[label]; e < candidates.starts[label + 1]; ++e) {
        const Offer offer{net(e), e};
        if (holds_[e] || offer.net <= 0) continue;
        if (offers_.size() == n_wanted) {
            if (!is_better(offer, offers_.back())) continue;
            offers_.pop_back();
        }
        offers_.insert(std::upper_bound(offers_.begin(), offers_.end(), offer, is_better), offer);
    }
}

void LabelAuction::place(int32_t cluster, const Bid& bid) {
    const auto is_higher = [this](const Bid& a, const Bid& b) { return this->is_higher(a, b); };
    const auto first = bids_.begin() + bid_starts_[cluster];
    const int64_t n_places = bid_starts_[cluster + 1] - bid_starts_[cluster];
    if (n_bids_[cluster] == n_places) {
        std::pop_heap(first, first + n_places, is_higher);
        const Bid& lowest = first[n_places - 1];
        holds_[entry_of(lowest)] = 0;
        --n_held_[lowest.label];
        if (!is_waiting_[lowest.label]) waiting_.push_back(lowest.label);
        is_waiting_[lowest.label] = 1;
        --n_bids_[cluster];
    }
    auto last = first + n_bids_[cluster]++;
    *last = bid;
    std::push_heap(first, last + 1, is_higher);
    if (is_limited_[cluster] && n_bids_[cluster] == n_places) prices_[cluster] = first->amount;
}

bool LabelAuction::is_higher(const Bid& bid, const Bid& other) const {
    if (bid.amount != other.amount) return bid.amount > other.amount;
    const float score = problem_.candidates.scores[entry_of(bid)];
    const float other_score = problem_.candidates.scores[entry_of(other)];
    if (score != other_score) return score > other_score;
    return bid.label < other.label;
}

}  // namespace polyseme
