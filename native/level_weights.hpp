// The weight vectors of all slots of one level, as they lie in a model file.
//
// A *row* is a feature within a cluster, with the slots there that have a weight for it. All rows
// of a feature form its *record*: a document looks at each of its features once, and finds there
// what all the clusters say that it has reached. A record is a run of bytes:
//
//   kind (1 byte) | which clusters have a row | where each row begins | row after row
//
// The clusters are a list of numbers, or a bitmap over all clusters with the number of rows before
// each of its words; where the rows begin, and the last one ends, takes two or four bytes each.
// (Where the level is one cluster, a record is its only row.) A row is its
// slots, then their weights. The slots are a list of numbers or a bitmap over the slots of the
// cluster, whichever is shorter; which of the two it is follows from the row's size.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

namespace polyseme {

// Bytes are read in large steps, so there is room behind the last.
constexpr int64_t read_ahead = 64;

template <class T>
inline T read_as(const uint8_t* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof(T));
    return value;
}

// Rows

inline uint32_t bitmap_bytes(int64_t n_slots) { return static_cast<uint32_t>((n_slots + 7) / 8); }

// Slot numbers take one byte, or two where a cluster has more slots than that.
inline bool has_short_columns(int64_t n_slots) { return n_slots <= 256; }

// How the rows of one cluster are written.
struct RowForm {
    uint32_t n_bitmap;      // bytes of a bitmap over the slots
    uint32_t column_bytes;  // of a slot number
    uint32_t weight_bytes;

    RowForm(int64_t n_slots, bool byte_weights)
        : n_bitmap(bitmap_bytes(n_slots)), column_bytes(has_short_columns(n_slots) ? 1 : 2),
          weight_bytes(byte_weights ? 1 : 4) {}
    uint32_t size(uint32_t n_weights) const {
        return std::min(n_weights * column_bytes, n_bitmap) + n_weights * weight_bytes;
    }
    // Rows of fewer bytes have a list of slots, the others a bitmap.
    uint32_t lists_below() const {
        return (n_bitmap * (column_bytes + weight_bytes) + column_bytes - 1) / column_bytes;
    }
    uint32_t list_length(uint32_t size) const { return size / (column_bytes + weight_bytes); }
};

// Records

enum RecordKind : uint8_t {
    longest_short_list = 249,  // up to here: a list of that many rows, starts in two bytes
    long_list,                 // its length in four bytes, starts in four
    bitmap_short,              // starts in two bytes
    bitmap_long,               // starts in four
};

// The parts of a record that depend on the level only.
struct RecordForm {
    int64_t n_clusters;
    uint32_t number_bytes;  // of a cluster number, and of a number of rows
    uint32_t n_words;       // of a bitmap over the clusters
    uint32_t n_bitmap;      // bytes of the bitmap, with the numbers of rows before each word

    explicit RecordForm(int64_t clusters)
        : n_clusters(clusters), number_bytes(clusters < 65536 ? 2 : 4),
          n_words(static_cast<uint32_t>((clusters + 63) / 64)),
          n_bitmap(n_words <= 1 ? bitmap_bytes(clusters) : n_words * 8 + n_words * number_bytes) {}
};

// Where the parts of one record lie.
struct RecordShape {
    RecordKind kind;
    uint32_t n_rows;
    uint32_t clusters_at, starts_at, rows_at;
    bool is_bitmap() const { return kind >= bitmap_short; }
    uint32_t start_bytes() const { return kind <= longest_short_list || kind == bitmap_short ? 2 : 4; }
};
RecordShape shape_of(const RecordForm& form, RecordKind kind, uint32_t n_rows);

// Levels

// A cluster as training leaves it. Rows come in any order of features; slots ascend in each.
struct TrainedCluster {
    std::vector<int32_t> features;  // [row]
    std::vector<uint32_t> counts;   // [row], of weights
    std::vector<uint16_t> columns;  // row after row
    std::vector<float> weights;     // row after row
    std::vector<float> bias;        // [slot]
    std::vector<float> dense;       // [slot][dense column]
};

// The same with its rows in their final form.
struct PackedCluster {
    std::vector<int32_t> features;  // [row]
    std::vector<uint32_t> sizes;    // [row]
    std::vector<uint8_t> bytes;     // row after row
    std::vector<float> scales;      // [slot], what a step of a byte is worth; none for float weights
    std::vector<float> bias;        // [slot]
    std::vector<uint8_t> dense;     // see dense_weights.hpp
};

// Weights become whole multiples of a slot's largest weight over 127, or stay floats.
PackedCluster pack_cluster(const TrainedCluster& cluster, bool byte_weights);

struct LevelWeights {
    std::vector<uint32_t> record_sizes;  // [feature]
    std::vector<uint8_t> bytes;          // record after record, then read_ahead more
    std::vector<float> scales, bias;     // [slot]
    std::vector<uint8_t> dense;          // cluster after cluster
};

// Writes rows into the records of their features. All rows are announced first; those of a
// feature are then written in the order of their clusters.
class RecordWriter {
  public:
    RecordWriter(int64_t n_clusters, int64_t n_features, LevelWeights& level)
        : form_(n_clusters), level_(level), totals_(n_features) {}

    void announce_row(int64_t feature, uint32_t size);
    void begin();
    void write_row(uint32_t cluster, int64_t feature, const uint8_t* row, uint32_t size);
    void finish();

  private:
    // How many rows a feature has, and their bytes; while writing, of those written so far.
    struct RowTotals {
        uint32_t n_rows = 0;
        uint32_t n_bytes = 0;
    };
    RecordKind choose_kind(const RowTotals& rows) const;
    uint8_t* record(size_t f) { return level_.bytes.data() + starts_[f]; }

    RecordForm form_;
    LevelWeights& level_;
    std::vector<RowTotals> totals_;
    std::vector<RecordShape> shapes_;
    std::vector<int64_t> starts_;
};

// Empties `clusters` as it goes.
LevelWeights join_clusters(std::vector<PackedCluster>& clusters, int64_t n_features);

}  // namespace polyseme
