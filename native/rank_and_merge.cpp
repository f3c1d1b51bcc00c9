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

void score_slots(const LinearLevel& ranker, const MatrixView& documents, const Beams& beams,
                 Activation activation, RankScratch& scratch) {
    scratch.plan.build(beams, ranker.n_clusters());
    scratch.offsets.resize(beams.nodes.size());
    int64_t n_scores = 0;
    for (int64_t i = 0; i < documents.n_rows; ++i) {
        for (int32_t r = 0; r < beams.sizes[i]; ++r) {
            const int64_t place = i * beams.beam_size + r;
            scratch.offsets[place] = n_scores;
            n_scores += ranker.size(beams.nodes[place]);
        }
    }
    if (static_cast<int64_t>(scratch.scores.size()) < n_scores) scratch.scores.resize(n_scores);
    scratch.plan.for_each_cluster([&](int32_t cluster, std::span<const int32_t> places) {
        scratch.visits.clear();
        for (const int32_t place : places)
            scratch.visits.push_back({place / beams.beam_size, beams.scores[place],
                                      scratch.scores.data() + scratch.offsets[place]});
        ranker.score(cluster, documents, scratch.visits, activation);
    });
}

namespace {

// Notes which clusters a document has reached, for as long as it lives.
class ReachedClusters {
  public:
    ReachedClusters(const LinearLevel& ranker, const Beams& beams, int64_t document,
                    RankScratch& scratch)
        : beams_(beams), first_(document * beams.beam_size), n_(beams.sizes[document]),
          reached_(scratch.reached) {
        // The scratch serves models of all sizes in turn.
        if (static_cast<int64_t>(reached_.size()) < ranker.n_clusters())
            reached_.resize(ranker.n_clusters(), -1);
        for (int64_t p = first_; p < first_ + n_; ++p) reached_[beams.nodes[p]] = scratch.offsets[p];
    }
    ~ReachedClusters() {
        for (int64_t p = first_; p < first_ + n_; ++p) reached_[beams_.nodes[p]] = -1;
    }

  private:
    const Beams& beams_;
    int64_t first_, n_;
    std::vector<int64_t>& reached_;
};

// Merges the reached slots of the label of `slot`. Each label is taken at its best reached slot,
// the lower one of equals; asked at another slot, this returns false.
bool merge_label(const LinearLevel& ranker, const SlotTable& table, const RankScratch& scratch,
                 int32_t slot, float score, Merge merge, float& merged) {
    const int32_t label = table.labels[slot];
    float sum = 0;
    int32_t n_visited = 0;
    for (int64_t s = table.label_starts[label]; s < table.label_starts[label + 1]; ++s) {
        const int32_t other = table.slots[s];
        const int32_t cluster = table.clusters[other];
        const int64_t offset = scratch.reached[cluster];
        if (offset < 0) continue;
        const float other_score = scratch.scores[offset + other - ranker.first_slot(cluster)];
        if (other_score > score || (other_score == score && other < slot)) return false;
        sum += other_score;
        ++n_visited;
    }
    merged = merge == Merge::max ? score : merge == Merge::sum ? sum : sum / float(n_visited);
    return true;
}

}  // namespace

int32_t merge_top_k(const LinearLevel& ranker, const SlotTable& table, const Beams& beams,
                    int64_t document, Merge merge, int32_t k, RankScratch& scratch,
                    int32_t* labels, float* scores) {
    TopK best(labels, scores, k);
    const ReachedClusters reached(ranker, beams, document, scratch);
    for (int32_t r = 0; r < beams.sizes[document]; ++r) {
        const int64_t place = document * beams.beam_size + r;
        const int64_t first = ranker.first_slot(beams.nodes[place]);
        const int64_t size = ranker.size(beams.nodes[place]);
        const float* slot_scores = scratch.scores.data() + scratch.offsets[place];
        // A merged score cannot exceed the best of its slots, or that many times it when summed.
        float hurdle = best.threshold();
        if (merge == Merge::sum && hurdle > 0) hurdle /= float(table.most_copies);
        for (int64_t j = 0; j < size; ++j) {
            if (slot_scores[j] < hurdle) continue;
            const auto slot = static_cast<int32_t>(first + j);
            float merged = slot_scores[j];
            if (table.overlapping &&
                !merge_label(ranker, table, scratch, slot, slot_scores[j], merge, merged))
                continue;
            best.offer(table.labels[slot], merged);
            hurdle = best.threshold();
            if (merge == Merge::sum && hurdle > 0) hurdle /= float(table.most_copies);
        }
    }
    return best.size();
}

void merge_all(const LinearLevel& ranker, const SlotTable& table, const Beams& beams,
               int64_t document, Merge merge, RankScratch& scratch,
               std::vector<std::pair<int32_t, float>>& result) {
    result.clear();
    const ReachedClusters reached(ranker, beams, document, scratch);
    for (int32_t r = 0; r < beams.sizes[document]; ++r) {
        const int64_t place = document * beams.beam_size + r;
        const int64_t first = ranker.first_slot(beams.nodes[place]);
        for (int64_t j = 0; j < ranker.size(beams.nodes[place]); ++j) {
            const auto slot = static_cast<int32_t>(first + j);
            const float score = scratch.scores[scratch.offsets[place] + j];
            float merged;
            if (merge_label(ranker, table, scratch, slot, score, merge, merged))
                result.emplace_back(table.labels[slot], merged);
        }
    }
    std::sort(result.begin(), result.end());
}

}  // namespace polyseme
