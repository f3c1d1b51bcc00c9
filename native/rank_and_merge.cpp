#include "rank_and_merge.hpp"

#include <algorithm>

#include "top_k.hpp"

namespace polyseme {

SlotTable::SlotTable(const LinearLevel& level, std::span<const int32_t> slot_labels, int64_t n)
    : n_labels(n), labels(slot_labels), clusters(slot_labels.size()), label_starts(n + 1, 0),
      slots(slot_labels.size()) {
    for (int64_t cluster = 0; cluster < level.n_clusters(); ++cluster)
        std::fill(clusters.begin() + level.first_slot(cluster),
                  clusters.begin() + level.first_slot(cluster + 1), static_cast<int32_t>(cluster));
    for (const int32_t label : labels) ++label_starts[label + 1];
    for (int64_t label = 0; label < n; ++label) {
        most_copies = std::max(most_copies, static_cast<int32_t>(label_starts[label + 1]));
        label_starts[label + 1] += label_starts[label];
    }
    overlapping = most_copies > 1;
    std::vector<int64_t> next(label_starts.begin(), label_starts.end() - 1);
    for (size_t slot = 0; slot < labels.size(); ++slot)
        slots[next[labels[slot]]++] = static_cast<int32_t>(slot);
}

namespace {

// The slots of all clusters in a beam, scored, for as long as it lives.
class ReachedSlots {
  public:
    ReachedSlots(const LinearLevel& ranker, const SlotTable& table, const Document& document, const Beam& beam,
                 Activation activation, Merge merge, RankScratch& scratch)
        : ranker_(ranker), table_(table), beam_(beam), merge_(merge), scratch_(scratch) {
        // The scratch serves models of all sizes in turn.
        if (static_cast<int64_t>(scratch.offsets.size()) < ranker.n_clusters())
            scratch.offsets.resize(ranker.n_clusters(), -1);
        int64_t n_scores = 0;
        for (const int32_t cluster : beam.nodes) {
            scratch.offsets[cluster] = n_scores;
            n_scores += padded(ranker.size(cluster));
        }
        if (static_cast<int64_t>(scratch.scores.size()) < n_scores) scratch.scores.resize(n_scores);
        ranker.find(document, beam.nodes, scratch.found);
        for (int32_t r = 0; r < beam.size(); ++r)
            ranker.score(beam.nodes[r], scratch.found, r, beam.scores[r], activation,
                         scratch.scores.data() + scratch.offsets[beam.nodes[r]]);
    }
    ~ReachedSlots() {
        for (const int32_t cluster : beam_.nodes) scratch_.offsets[cluster] = -1;
    }

    // Calls visit(slot, score) for every slot of at least `hurdle()`, which may rise.
    template <class Hurdle, class F>
    void for_each_slot(Hurdle&& hurdle, F&& visit) const {
        for (const int32_t cluster : beam_.nodes) {
            const auto first = static_cast<int32_t>(ranker_.first_slot(cluster));
            const auto size = static_cast<int32_t>(ranker_.size(cluster));
            const float* const scores = scratch_.scores.data() + scratch_.offsets[cluster];
            float least = hurdle();
            for (int32_t j = 0; j < size; ++j) {
                if (scores[j] < least) continue;
                visit(first + j, scores[j]);
                least = hurdle();
            }
        }
    }

    // Merges the reached slots of the label of `slot`. Each label is taken at its best slot, the
    // lower one of equals; asked at another slot, this returns false.
    bool merge_label(int32_t slot, float score, float& merged) const {
        const int32_t label = table_.labels[slot];
        float sum = 0;
        int32_t n_reached = 0;
        for (int64_t s = table_.label_starts[label]; s < table_.label_starts[label + 1]; ++s) {
            const int32_t other = table_.slots[s];
            const int32_t cluster = table_.clusters[other];
            const int64_t offset = scratch_.offsets[cluster];
            if (offset < 0) continue;
            const float other_score = scratch_.scores[offset + other - ranker_.first_slot(cluster)];
            if (other_score > score || (other_score == score && other < slot)) return false;
            sum += other_score;
            ++n_reached;
        }
        merged = merge_ == Merge::max ? score : merge_ == Merge::sum ? sum : sum / float(n_reached);
        return true;
    }

  private:
    const LinearLevel& ranker_;
    const SlotTable& table_;
    const Beam& beam_;
    Merge merge_;
    RankScratch& scratch_;
};

// Every label has one slot: nothing to merge, and clusters that cannot matter are not scored.
int32_t rank_without_merging(const LinearLevel& ranker, const SlotTable& table,
                             const Document& document, const Beam& beam, Activation activation,
                             int32_t k, RankScratch& scratch, int32_t* labels, float* scores) {
    TopK best(labels, scores, k);
    for (int32_t r = 0; r < beam.size(); ++r) {
        if (never_rises(activation) && beam.scores[r] < best.threshold()) break;
        if (r % clusters_at_once == 0) ranker.find(document, beam.some(r), scratch.found);
        const int32_t cluster = beam.nodes[r];
        const int64_t size = ranker.size(cluster);
        if (static_cast<int64_t>(scratch.scores.size()) < padded(size)) scratch.scores.resize(padded(size));
        ranker.score(cluster, scratch.found, r % clusters_at_once, beam.scores[r], activation, scratch.scores.data());
        const int32_t* const slot_labels = table.labels.data() + ranker.first_slot(cluster);
        float hurdle = best.threshold();
        for (int64_t j = 0; j < size; ++j) {
            if (scratch.scores[j] < hurdle) continue;
            best.offer(slot_labels[j], scratch.scores[j]);
            hurdle = best.threshold();
        }
    }
    return best.size();
}

}  // namespace

int32_t rank_top_k(const LinearLevel& ranker, const SlotTable& table, const Document& document,
                   const Beam& beam, Activation activation, Merge merge, int32_t k,
                   RankScratch& scratch, int32_t* labels, float* scores) {
    if (!table.overlapping)
        return rank_without_merging(ranker, table, document, beam, activation, k, scratch, labels, scores);
    const ReachedSlots reached(ranker, table, document, beam, activation, merge, scratch);
    TopK best(labels, scores, k);
    // A merged score cannot exceed the best of its slots, or that many times it when summed.
    const float most = merge == Merge::sum ? float(table.most_copies) : 1.f;
    const auto hurdle = [&] { return best.threshold() > 0 ? best.threshold() / most : best.threshold(); };
    reached.for_each_slot(hurdle, [&](int32_t slot, float score) {
        float merged;
        if (reached.merge_label(slot, score, merged)) best.offer(table.labels[slot], merged);
    });
    return best.size();
}

void rank_all(const LinearLevel& ranker, const SlotTable& table, const Document& document,
              const Beam& beam, Activation activation, Merge merge, RankScratch& scratch,
              std::vector<std::pair<int32_t, float>>& result) {
    result.clear();
    const ReachedSlots reached(ranker, table, document, beam, activation, merge, scratch);
    const auto every = [] { return -std::numeric_limits<float>::infinity(); };
    reached.for_each_slot(every, [&](int32_t slot, float score) {
        float merged;
        if (reached.merge_label(slot, score, merged)) result.emplace_back(table.labels[slot], merged);
    });
    std::sort(result.begin(), result.end());
}

}  // namespace polyseme
