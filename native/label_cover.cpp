#include "label_cover.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace polyseme {
namespace {

// Counts may come from a hand-made co-occurrence; memory must not depend on them being right.
[[noreturn]] void throw_mismatch() {
    throw std::invalid_argument("co_occurrence: the counts do not fit the matched documents");
}

}  // namespace

void LabelCover::load(int64_t label) {
    label_ = label;
    const int32_t n_ranks = problem_.candidates.n_candidates(label);
    entries_.resize(n_ranks);
    std::iota(entries_.begin(), entries_.end(), problem_.candidates.starts[label]);
    std::sort(entries_.begin(), entries_.end(),
              [&](int64_t entry, int64_t other) { return problem_.comes_first(label, entry, other); });

    starts_.resize(n_ranks);
    gains_.resize(n_ranks);
    int64_t n_pairs = 0;
    for (int32_t rank = 0; rank < n_ranks; ++rank) {
        rank_of_cluster_[cluster(rank)] = rank;
        gains_[rank] = count(rank);
        starts_[rank] = n_pairs;
        n_pairs += count(rank);
    }
    documents_.resize(n_pairs);
    const auto n_documents = static_cast<int32_t>(problem_.label_rows.row(label).size());
    n_reachable_ = 0;
    for (int32_t i = 0; i < n_documents; ++i) {
        const auto clusters = clusters_of(i);
        n_reachable_ += !clusters.empty();
        n_pairs -= static_cast<int64_t>(clusters.size());
        for (const int32_t c : clusters) {
            const int32_t rank = rank_of(c);
            if (rank >= n_ranks || cluster(rank) != c || gains_[rank] == 0) throw_mismatch();
            documents_[starts_[rank] + --gains_[rank]] = i;
        }
    }
    if (n_pairs != 0) throw_mismatch();

    shared_.resize(n_ranks);
    is_covered_.resize(n_documents);
    uncover_all();
}

void LabelCover::uncover_all() {
    for (int32_t rank = 0; rank < n_ranks(); ++rank) gains_[rank] = count(rank);
    std::fill(is_covered_.begin(), is_covered_.end(), 0);
}

int32_t LabelCover::cover(int32_t rank) {
    const int32_t gain = gains_[rank];
    for (const int32_t i : documents(rank)) {
        if (is_covered_[i]) continue;
        is_covered_[i] = 1;
        for (const int32_t cluster : clusters_of(i)) --gains_[rank_of(cluster)];
    }
    return gain;
}

std::pair<int32_t, int32_t> LabelCover::best_pair() {
    std::pair<int32_t, int32_t> best{0, 1};
    int32_t most = 0;
    for (int32_t first = 0; first + 1 < n_ranks() && most < n_reachable_; ++first) {
        if (count(first) + count(first + 1) <= most) break;
        for (const int32_t i : documents(first))
            for (const int32_t cluster : clusters_of(i)) ++shared_[rank_of(cluster)];
        for (int32_t second = first + 1; second < n_ranks(); ++second) {
            const int32_t bound = count(first) + count(second);
            if (bound <= most) break;
            const int32_t covered = bound - shared_[second];
            if (covered > most) {
                most = covered;
                best = {first, second};
            }
        }
        for (const int32_t i : documents(first))
            for (const int32_t cluster : clusters_of(i)) shared_[rank_of(cluster)] = 0;
    }
    return best;
}

}  // namespace polyseme
