// One trained level of the model, ready to score documents.
#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "activation.hpp"
#include "dense_weights.hpp"
#include "huge_pages.hpp"
#include "level_weights.hpp"
#include "row_sums.hpp"

namespace polyseme {

// The sparse features of one document and their values, and its dense columns if there are any.
struct Document {
    std::span<const int32_t> features;
    std::span<const float> values;
    const DenseValues* dense = nullptr;
};

struct LevelWeightsView {
    int64_t n_clusters = 0;
    int64_t n_sparse = 0;
    int64_t n_dense = 0;                     // dense columns, whose numbers follow
    const int64_t* slot_starts = nullptr;    // [n_clusters + 1]
    const uint32_t* record_sizes = nullptr;  // [n_sparse]
    std::span<const uint8_t> bytes;
    const float* scales = nullptr;   // [slot], or none where weights are floats
    const float* bias = nullptr;     // [slot], the bias feature's weight times its value
    std::span<const uint8_t> dense;  // cluster after cluster
};

// What a level has to say of one document in some clusters. Lives on, so that a document need not
// pay for memory.
struct FoundRows {
    // The rows of one cluster: lists at the front, bitmaps at the back.
    struct Place {
        FoundRow *begin, *list_end, *bitmap_begin, *end;
        uint32_t lists_below;  // rows of fewer bytes are lists

        std::span<const FoundRow> lists() const { return {begin, list_end}; }
        std::span<const FoundRow> bitmaps() const { return {bitmap_begin, end}; }
    };
    std::vector<Place> places;           // [rank of the cluster]
    float largest = 0;                   // value of the document, or 0 if one is negative
    const DenseValues* dense = nullptr;  // of the document
    std::vector<FoundRow> rows;
    std::vector<int32_t> rank_of;  // scratch: [cluster], or -1
};

class LinearLevel {
  public:
    // Copies the bytes, looks at the other arrays in place. Checks that nothing leads outside an
    // array, whoever wrote the file, unless they come from training; throws std::invalid_argument.
    explicit LinearLevel(const LevelWeightsView& weights, bool is_trusted = false);

    int64_t n_clusters() const { return view_.n_clusters; }
    int64_t n_sparse() const { return view_.n_sparse; }
    int64_t n_dense() const { return view_.n_dense; }
    int64_t n_features() const { return n_sparse() + n_dense(); }
    int64_t n_slots() const { return view_.slot_starts[view_.n_clusters]; }
    int64_t first_slot(int64_t cluster) const { return view_.slot_starts[cluster]; }
    int64_t size(int64_t cluster) const { return first_slot(cluster + 1) - first_slot(cluster); }
    int64_t n_weights() const;
    bool has_byte_weights() const { return view_.scales != nullptr; }

    // Looks up the features of a document for these clusters.
    void find(const Document& document, std::span<const int32_t> clusters, FoundRows& found) const;

    // The margins of all slots of the cluster, activated. There must be padded(size) places.
    void score(int64_t cluster, const FoundRows& found, size_t rank, float cluster_score,
               Activation activation, float* scores) const;

    // The features of one slot, counted within its cluster, and their weights; by feature.
    std::vector<std::pair<int32_t, float>> slot_weights(int64_t cluster, int64_t slot) const;
    // The same for some features only, in their order.
    std::vector<std::pair<int32_t, float>> slot_weights(int64_t cluster, int64_t slot,
                                                        std::span<const int32_t> features) const;

    // Calls visit(slot, weight) for every weight of a feature, slots ascending; dense columns have
    // the numbers behind the sparse features.
    void for_each_weight(int64_t feature, const std::function<void(int64_t, float)>& visit) const;

    friend LevelWeights join_parts(std::span<const LinearLevel* const> parts,
                                   std::span<const int32_t> part_of_cluster);

  private:
    RowForm row_form(int64_t cluster) const { return RowForm(size(cluster), view_.scales != nullptr); }
    int64_t record_start(int64_t feature) const {
        return long_starts_.empty() ? short_starts_[feature] : long_starts_[feature];
    }
    std::span<const uint8_t> dense_of(int64_t cluster) const {
        return {dense_.data() + dense_starts_[cluster],
                static_cast<size_t>(dense_form_.cluster_bytes(size(cluster)))};
    }
    float dense_weight(int64_t cluster, int64_t slot, int64_t column) const;
    void set_up_dense(bool is_trusted);
    RecordShape shape(int64_t feature) const;
    void check_record(int64_t feature) const;
    template <class F>
    void for_each_row(int64_t feature, F&& visit) const;
    template <class F>
    void for_each_weight_of(int64_t cluster, const uint8_t* row, uint32_t size, F&& visit) const;

    LevelWeightsView view_;
    HugePages bytes_;
    RecordForm form_;
    // [n_features + 1], of records; the short ones where they suffice, since more of them are in cache.
    std::vector<uint32_t> short_starts_;
    std::vector<int64_t> long_starts_;
    AddRows add_short_, add_long_;
    HugePages dense_;
    DenseForm dense_form_;
    std::vector<int64_t> dense_starts_;  // [n_clusters + 1]
    AddDense add_dense_ = nullptr;       // where there are dense columns
};

// A level whose clusters come from the given parts, byte for byte as they are there. A part has
// either all clusters of the level, or only those that come from it, in their order.
LevelWeights join_parts(std::span<const LinearLevel* const> parts, std::span<const int32_t> part_of_cluster);

}  // namespace polyseme
