#include "rank_and_merge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "simd.hpp"
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

namespace clones {

// Lists the places of scores of at least `least`, of which there are few: sixteen are looked at
// together, and there is room for whole sixteens.
POLYSEME_CLONES(int32_t, list_at_least, (float least, const float* scores, int32_t n, int32_t* places),
                (least, scores, n, places)) {
    int32_t n_found = 0;
    for (int32_t begin = 0; begin < n; begin += 16) {
        int32_t any = 0;
        for (int32_t j = begin; j < begin + 16; ++j) any |= scores[j] >= least ? 1 : 0;
        if (any == 0) continue;
        for (int32_t j = begin; j < std::min(begin + 16, n); ++j) {
            places[n_found] = j;
            n_found += scores[j] >= least;
        }
    }
    return n_found;
}

}  // namespace clones

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// The slots of a beam's clusters, scored as far as asked for, for as long as it lives.
class ReachedSlots {
  public:
    ReachedSlots(const LinearLevel& ranker, const SlotTable& table, const Document& document,
                 const Beam& beam, Activation activation, Merge merge, RankScratch& scratch)
        : ranker_(ranker), table_(table), document_(document), beam_(beam), activation_(activation),
          merge_(merge), scratch_(scratch) {
        // The scratch serves models of all sizes in turn.
        if (static_cast<int64_t>(scratch.offsets.size()) < ranker.n_clusters())
            scratch.offsets.resize(ranker.n_clusters(), not_reached);
        for (int32_t rank = 0; rank < beam.size(); ++rank) scratch.offsets[beam.nodes[rank]] = waiting(rank);
        scratch.scored.clear();
    }
    ~ReachedSlots() {
        for (const int32_t cluster : beam_.nodes) scratch_.offsets[cluster] = not_reached;
    }

    // How many clusters may have a label that is in none of the better ones and gets to `least`.
    int32_t n_that_matter(float least) const {
        int32_t n = 0;
        while (n < beam_.size() && most_from(n) >= least) ++n;
        return n;
    }

    void score_first(int32_t n_clusters) {
        scratch_.wanted.assign(beam_.nodes.begin(), beam_.nodes.begin() + std::min(n_clusters, beam_.size()));
        score_wanted();
    }

    // Scores the clusters that may yet bring a label to a merged score of `least`; false if there are
    // none. Not for the mean, which another slot may lower.
    bool score_what_matters(float least) {
        if (least > 0) least *= 1 - 1e-6f;  // sums are rounded
        scratch_.wanted.clear();
        float most_to_come = 0;
        for (int32_t rank = 0; rank < beam_.size(); ++rank) {
            if (is_scored(beam_.nodes[rank])) continue;
            most_to_come = std::max(most_to_come, beam_.scores[rank]);
            if (most_from(rank) >= least) want(beam_.nodes[rank]);
        }
        // Labels of the scored clusters gain by their other slots only where slots are summed; they
        // are many, so they are looked at last.
        if (n_summands() > 1 && scratch_.wanted.empty()) {
            const float hurdle = (least - most_to_come * float(n_summands() - 1)) / float(n_summands());
            for_each_slot([=] { return hurdle; },
                          [&](int32_t slot, float) { want_rest_of(table_.labels[slot], least); });
        }
        score_wanted();
        return !scratch_.wanted.empty();
    }

    // Calls visit(slot, score) for every scored slot of at least `hurdle()`, which may rise.
    template <class Hurdle, class F>
    void for_each_slot(Hurdle&& hurdle, F&& visit) const {
        for (const int32_t cluster : scratch_.scored) {
            const auto first = static_cast<int32_t>(ranker_.first_slot(cluster));
            const auto size = static_cast<int32_t>(ranker_.size(cluster));
            const float* const scores = scratch_.scores.data() + scratch_.offsets[cluster];
            scratch_.places.resize(std::max<size_t>(scratch_.places.size(), size));
            const int32_t n = clones::list_at_least(hurdle(), scores, size, scratch_.places.data());
            for (const int32_t j : std::span(scratch_.places).first(n))
                if (scores[j] >= hurdle()) visit(first + j, scores[j]);
        }
    }

    // Offers the slots of the best cluster: since their labels are different ones, as many have a sum
    // or a maximum of at least so much.
    void offer_best_cluster(TopK& best) const {
        if (scratch_.scored.empty()) return;
        const auto size = static_cast<int32_t>(ranker_.size(scratch_.scored[0]));
        for (int32_t j = 0; j < size; ++j) best.offer(j, scratch_.scores[j]);
    }

    // Merges the scored slots of the label of `slot`. Each label is taken at its best slot, the
    // lower one of equals; asked at another slot, this returns false.
    bool merge_label(int32_t slot, float score, float& merged) const {
        float sum = 0;
        int32_t n_reached = 0;
        for (const int32_t other : table_.slots_of(table_.labels[slot])) {
            if (!is_scored(table_.clusters[other])) continue;
            const float other_score = score_of(other);
            if (other_score > score || (other_score == score && other < slot)) return false;
            sum += other_score;
            ++n_reached;
        }
        merged = merge_ == Merge::max ? score : merge_ == Merge::sum ? sum : sum / float(n_reached);
        return true;
    }

    // Scores the clusters of these labels that are still waiting.
    void score_rest_of(std::span<const int32_t> labels) {
        scratch_.wanted.clear();
        for (const int32_t label : labels)
            for (const int32_t slot : table_.slots_of(label))
                if (scratch_.offsets[table_.clusters[slot]] < not_reached) want(table_.clusters[slot]);
        score_wanted();
    }

    FactsOfSlots slots_of(int32_t label) const {
        FactsOfSlots slots;
        for (const int32_t slot : table_.slots_of(label)) {
            const int32_t cluster = table_.clusters[slot];
            if (!is_scored(cluster)) continue;
            const auto rank =
                std::find(beam_.nodes.begin(), beam_.nodes.end(), cluster) - beam_.nodes.begin();
            slots.add(beam_.scores[rank], score_of(slot));
        }
        return slots;
    }

  private:
    // What stands in the place of an offset.
    static constexpr int64_t not_reached = -1;
    static constexpr int32_t waiting(int64_t rank) {
        return static_cast<int32_t>(-2 - rank);
    }  // its own inverse

    int32_t n_summands() const { return merge_ == Merge::sum ? table_.most_copies : 1; }

    // The most that a label can get whose slots are in the clusters from this one on.
    float most_from(int32_t rank) const {
        const auto first = beam_.scores.begin() + rank;
        return std::accumulate(first, first + std::min(n_summands(), beam_.size() - rank), 0.f);
    }

    bool is_scored(int32_t cluster) const { return scratch_.offsets[cluster] >= 0; }
    float score_of(int32_t slot) const {
        const int32_t cluster = table_.clusters[slot];
        return scratch_.scores[scratch_.offsets[cluster] + slot - ranker_.first_slot(cluster)];
    }

    void want(int32_t cluster) {
        auto& wanted = scratch_.wanted;
        if (std::find(wanted.begin(), wanted.end(), cluster) == wanted.end()) wanted.push_back(cluster);
    }

    // Wants the waiting clusters of a label if it could reach `least` with them.
    void want_rest_of(int32_t label, float least) {
        const auto slots = table_.slots_of(label);
        float most = 0;
        for (const int32_t slot : slots) {
            const int64_t offset = scratch_.offsets[table_.clusters[slot]];
            if (offset >= 0) most += score_of(slot);
            else if (offset != not_reached) most += beam_.scores[waiting(offset)];
        }
        if (most < least) return;
        for (const int32_t slot : slots)
            if (scratch_.offsets[table_.clusters[slot]] < not_reached) want(table_.clusters[slot]);
    }

    void score_wanted() {
        int64_t n_scores = 0;
        for (const int32_t cluster : scratch_.scored) n_scores += padded(ranker_.size(cluster));
        ranker_.find(document_, scratch_.wanted, scratch_.found);
        for (size_t i = 0; i < scratch_.wanted.size(); ++i) {
            const int32_t cluster = scratch_.wanted[i];
            const float cluster_score = beam_.scores[waiting(scratch_.offsets[cluster])];
            scratch_.offsets[cluster] = n_scores;
            n_scores += padded(ranker_.size(cluster));
            if (static_cast<int64_t>(scratch_.scores.size()) < n_scores) scratch_.scores.resize(n_scores);
            ranker_.score(cluster, scratch_.found, i, cluster_score, activation_,
                          scratch_.scores.data() + scratch_.offsets[cluster]);
            scratch_.scored.push_back(cluster);
        }
    }

    const LinearLevel& ranker_;
    const SlotTable& table_;
    const Document& document_;
    const Beam& beam_;
    Activation activation_;
    Merge merge_;
    RankScratch& scratch_;
};

// How many clusters to score at once: one less than usual, since too many cannot be undone; or all
// if hardly any would be left, since every further step looks up all features again.
int32_t first_guess(float usual, int32_t beam_size) {
    return usual > float(beam_size) - 1.5f ? beam_size
                                           : std::max(1, static_cast<int32_t>(std::lround(usual)) - 1);
}

// The facts of labels of a document whose slots are scored.
void describe(const ReachedSlots& reached, const Document& document, const KnownOfLabels& known,
              RankScratch& scratch, std::span<const int32_t> labels, Facts* facts) {
    const WordsOfDocument words(known.names, document.features, scratch.word_marks);
    const float length = length_of(document);
    for (const int32_t label : labels)
        *facts++ = reached.slots_of(label).facts(known.counts[label], length, words.found_of(label));
}

// Every label has one slot: nothing to merge, and clusters that cannot matter are not scored.
int32_t rank_without_merging(const LinearLevel& ranker, const SlotTable& table, const Document& document,
                             const Beam& beam, Activation activation, int32_t k, RankScratch& scratch,
                             int32_t* labels, float* scores) {
    TopK best(labels, scores, k);
    for (int32_t r = 0; r < beam.size(); ++r) {
        if (never_rises(activation) && beam.scores[r] < best.threshold()) break;
        if (r % clusters_at_once == 0) ranker.find(document, beam.some(r), scratch.found);
        const int32_t cluster = beam.nodes[r];
        const int64_t size = ranker.size(cluster);
        if (static_cast<int64_t>(scratch.scores.size()) < padded(size)) scratch.scores.resize(padded(size));
        ranker.score(cluster, scratch.found, r % clusters_at_once, beam.scores[r], activation,
                     scratch.scores.data());
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
                   const Beam& beam, Activation activation, Merge merge, int32_t k, RankScratch& scratch,
                   int32_t* labels, float* scores, const FactsWanted* wanted) {
    if (!table.overlapping && wanted == nullptr)
        return rank_without_merging(ranker, table, document, beam, activation, k, scratch, labels, scores);
    ReachedSlots reached(ranker, table, document, beam, activation, merge, scratch);
    const bool can_leave_out = never_rises(activation) && merge != Merge::mean;
    reached.score_first(can_leave_out ? first_guess(scratch.usual_n_scored, beam.size()) : beam.size());
    // What a label has to reach to have a chance, given the best so far.
    const auto threshold = [&](const TopK& best) {
        if (wanted == nullptr || best.size() < wanted->n_sure) return best.threshold();
        return std::max(best.threshold(), std::min(scores[wanted->n_sure - 1], candidate_share * scores[0]));
    };
    float surely = -infinity;
    if (can_leave_out) {
        TopK best(labels, scores, k);
        reached.offer_best_cluster(best);
        surely = threshold(best);
    }
    // A merged score cannot exceed the best of its slots, or that many times it when summed.
    const float most = merge == Merge::sum ? float(table.most_copies) : 1.f;
    for (;;) {
        TopK best(labels, scores, k);
        const auto hurdle = [&] {
            const float least = std::max(surely, threshold(best));
            return least > 0 ? least / most : least;
        };
        reached.for_each_slot(hurdle, [&](int32_t slot, float score) {
            float merged;
            if (reached.merge_label(slot, score, merged)) best.offer(table.labels[slot], merged);
        });
        surely = std::max(surely, threshold(best));
        if (can_leave_out) {
            if (reached.score_what_matters(surely)) continue;
            scratch.usual_n_scored += (float(reached.n_that_matter(surely)) - scratch.usual_n_scored) / 16;
        }
        if (wanted == nullptr) return best.size();
        const int32_t n_candidates = count_candidates({scores, static_cast<size_t>(best.size())});
        const int32_t n = std::min(best.size(), std::max(wanted->n_sure, n_candidates));
        reached.score_rest_of({labels, static_cast<size_t>(n)});
        describe(reached, document, wanted->known, scratch, std::span(labels, n), wanted->facts);
        return n;
    }
}

float length_of(const Document& document) { return std::log1p(static_cast<float>(document.features.size())); }

void rank_all(const LinearLevel& ranker, const SlotTable& table, const Document& document, const Beam& beam,
              Activation activation, Merge merge, RankScratch& scratch,
              std::vector<std::pair<int32_t, float>>& result, const KnownOfLabels* known,
              std::vector<Facts>* facts) {
    result.clear();
    ReachedSlots reached(ranker, table, document, beam, activation, merge, scratch);
    reached.score_first(beam.size());
    reached.for_each_slot([] { return -infinity; },
                          [&](int32_t slot, float score) {
                              float merged;
                              if (reached.merge_label(slot, score, merged))
                                  result.emplace_back(table.labels[slot], merged);
                          });
    std::sort(result.begin(), result.end());
    if (facts == nullptr) return;
    std::vector<int32_t> labels;
    for (const auto& [label, score] : result) labels.push_back(label);
    facts->resize(labels.size());
    describe(reached, document, *known, scratch, labels, facts->data());
}

}  // namespace polyseme
