#include "linear_level.hpp"

#include <algorithm>

namespace polyseme {

namespace {

// A feature of the document that may be a row of the cluster.
struct Candidate {
    uint32_t row;
    int32_t feature;
    float value;
};

template <class Column, class Weight>
POLYSEME_INLINE void add_margins(const ClusterWeightsView<Column, Weight>& level, int64_t cluster,
                                 std::span<const int32_t> features, std::span<const float> values,
                                 Candidate* candidates, float* scores) {
    const int64_t n_rows = level.row_starts[cluster + 1] - level.row_starts[cluster];
    if (n_rows == 0) return;
    const uint64_t n_words = RowLookup::n_words(n_rows);
    const uint64_t* words = level.words + level.word_starts[cluster];
    const uint32_t* words_rows = level.words_rows + level.word_starts[cluster];
    const int32_t* row_features = level.features + level.row_starts[cluster];
    const uint32_t* entry_ends = level.entry_ends + level.row_starts[cluster];
    const Column* columns = level.columns + level.entry_starts[cluster];
    const Weight* weights = level.weights + level.entry_starts[cluster];

    // In steps of their own, so that the memory accesses of one step overlap.
    int64_t n_candidates = 0;
    for (size_t e = 0; e < features.size(); ++e) {
        const uint64_t position = RowLookup::position(features[e], n_words);
        const uint64_t word = words[position / 64];
        const uint64_t bit = position % 64;
        const auto row = words_rows[position / 64] +
                         static_cast<uint32_t>(std::popcount(word & ((uint64_t{1} << bit) - 1)));
        candidates[n_candidates] = {row, features[e], values[e]};
        n_candidates += static_cast<int64_t>((word >> bit) & 1);
    }
    for (int64_t c = 0; c < n_candidates; ++c) {
        const auto [row_at_least, feature, value] = candidates[c];
        uint32_t row = row_at_least;
        if (row_features[row] != feature) {
            // Another feature with the same position, or an earlier shared one, stands here.
            const uint64_t position = RowLookup::position(feature, n_words);
            while (row < n_rows && row_features[row] != feature &&
                   RowLookup::position(row_features[row], n_words) <= position)
                ++row;
            if (row == n_rows || row_features[row] != feature) continue;
        }
        const uint32_t end = entry_ends[row];
        for (uint32_t e = row == 0 ? 0 : entry_ends[row - 1]; e < end; ++e)
            scores[columns[e]] += value * decode(weights[e]);
    }
}

template <class Column, class Weight>
POLYSEME_INLINE void score_visits(const ClusterWeightsView<Column, Weight>& level, int64_t cluster,
                                  const MatrixView& documents, std::span<const Visit> visits,
                                  Activation activation, std::vector<Candidate>& candidates) {
    const int64_t first = level.slot_starts[cluster];
    const int64_t n_slots = level.slot_starts[cluster + 1] - first;
    for (const Visit& visit : visits) {
        const auto features = documents.row(visit.document);
        if (candidates.size() < features.size() + 1) candidates.resize(features.size() + 1);
        std::copy(level.bias + first, level.bias + first + n_slots, visit.scores);
        add_margins(level, cluster, features, documents.row_values(visit.document),
                    candidates.data(), visit.scores);
        activate(visit.scores, n_slots, visit.score, activation);
    }
}

// Clones cannot be templates, hence one function for each pair of types.
#define POLYSEME_SCORER(Column, Weight)                                                          \
    POLYSEME_CLONES void score_cluster(const ClusterWeightsView<Column, Weight>& level,          \
                                       int64_t cluster, const MatrixView& documents,             \
                                       std::span<const Visit> visits, Activation activation,     \
                                       std::vector<Candidate>& candidates) {                     \
        score_visits(level, cluster, documents, visits, activation, candidates);                 \
    }
POLYSEME_SCORER(uint8_t, Half)
POLYSEME_SCORER(uint8_t, float)
POLYSEME_SCORER(uint16_t, Half)
POLYSEME_SCORER(uint16_t, float)
#undef POLYSEME_SCORER

template <class Column, class Weight>
class TypedLevel final : public LinearLevel {
  public:
    explicit TypedLevel(const ClusterWeightsView<Column, Weight>& weights) : weights_(weights) {
        word_starts_.assign(1, 0);
        for (int64_t c = 0; c < weights.n_clusters; ++c) {
            const int64_t n_rows = weights.row_starts[c + 1] - weights.row_starts[c];
            word_starts_.push_back(word_starts_.back() + static_cast<int64_t>(RowLookup::n_words(n_rows)));
        }
        weights_.word_starts = word_starts_.data();
    }
    int64_t n_clusters() const override { return weights_.n_clusters; }
    int64_t n_slots() const override { return weights_.slot_starts[weights_.n_clusters]; }
    int64_t first_slot(int64_t cluster) const override { return weights_.slot_starts[cluster]; }
    void score(int64_t cluster, const MatrixView& documents, std::span<const Visit> visits,
               Activation activation) const override {
        thread_local std::vector<Candidate> candidates;
        score_cluster(weights_, cluster, documents, visits, activation, candidates);
    }

  private:
    ClusterWeightsView<Column, Weight> weights_;
    std::vector<int64_t> word_starts_;
};

}  // namespace

template <class Column, class Weight>
std::unique_ptr<LinearLevel> make_linear_level(const ClusterWeightsView<Column, Weight>& weights) {
    return std::make_unique<TypedLevel<Column, Weight>>(weights);
}

template std::unique_ptr<LinearLevel> make_linear_level(const ClusterWeightsView<uint8_t, Half>&);
template std::unique_ptr<LinearLevel> make_linear_level(const ClusterWeightsView<uint8_t, float>&);
template std::unique_ptr<LinearLevel> make_linear_level(const ClusterWeightsView<uint16_t, Half>&);
template std::unique_ptr<LinearLevel> make_linear_level(const ClusterWeightsView<uint16_t, float>&);

}  // namespace polyseme
