#include "label_tree.hpp"

#include <cmath>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "random.hpp"
#include "simd.hpp"

namespace polyseme {

namespace {

constexpr int64_t labels_per_block = 512;
// A node with fewer entries gets its own compact feature numbers, so that centroids stay in cache.
constexpr int64_t max_local_entries = int64_t{1} << 22;

// A run of labels that still has to be split into `n_leaves` leaves.
struct Node {
    int64_t begin, end;
    int64_t first_leaf, n_leaves;
};

POLYSEME_CLONES float dot(const int32_t* columns, const float* values, int64_t n,
                          const float* dense) {
    float a = 0, b = 0, c = 0, d = 0;
    int64_t e = 0;
    for (; e + 4 <= n; e += 4) {
        a += values[e] * dense[columns[e]];
        b += values[e + 1] * dense[columns[e + 1]];
        c += values[e + 2] * dense[columns[e + 2]];
        d += values[e + 3] * dense[columns[e + 3]];
    }
    for (; e < n; ++e) a += values[e] * dense[columns[e]];
    return (a + b) + (c + d);
}

// Left centroid minus right centroid, both of unit length, from the sums of the two sides.
POLYSEME_CLONES void centroid_difference(const float* left, const float* total, int64_t n,
                                         float* difference) {
    double left_squared = 0, right_squared = 0;
    for (int64_t f = 0; f < n; ++f) {
        const float right = total[f] - left[f];
        left_squared += double(left[f]) * left[f];
        right_squared += double(right) * right;
    }
    const float to_left = left_squared > 0 ? float(1 / std::sqrt(left_squared)) : 0;
    const float to_right = right_squared > 0 ? float(1 / std::sqrt(right_squared)) : 0;
    for (int64_t f = 0; f < n; ++f)
        difference[f] = left[f] * to_left - (total[f] - left[f]) * to_right;
}

// The rows of one node, with features renumbered when that pays.
struct NodeRows {
    MatrixView rows;
    std::vector<int64_t> starts;
    std::vector<int32_t> columns;
    std::vector<float> values;
    std::vector<int32_t> local_feature;  // scratch, -1 where unset

    void gather(const MatrixView& label_features, std::span<const int32_t> labels) {
        int64_t n_entries = 0;
        for (const int32_t label : labels) n_entries += static_cast<int64_t>(label_features.row(label).size());
        const bool local = n_entries < max_local_entries;
        if (local && local_feature.empty()) local_feature.assign(label_features.n_cols, -1);
        starts.assign(1, 0);
        columns.clear();
        values.clear();
        if (!local) return;
        std::vector<int32_t> used;
        columns.reserve(n_entries);
        values.reserve(n_entries);
        for (const int32_t label : labels) {
            for (const int32_t feature : label_features.row(label)) {
                auto& local_number = local_feature[feature];
                if (local_number < 0) {
                    local_number = static_cast<int32_t>(used.size());
                    used.push_back(feature);
                }
                columns.push_back(local_number);
            }
            const auto row = label_features.row_values(label);
            values.insert(values.end(), row.begin(), row.end());
            starts.push_back(static_cast<int64_t>(columns.size()));
        }
        for (const int32_t feature : used) local_feature[feature] = -1;
        rows.n_rows = static_cast<int64_t>(labels.size());
        rows.n_cols = static_cast<int64_t>(used.size());
        rows.starts = starts.data();
        rows.columns = columns.data();
        rows.values = values.data();
    }
    bool is_local() const { return starts.size() > 1; }
};

class Bisector {
  public:
    Bisector(const MatrixView& label_features, const TreeOptions& options, RunControl& control)
        : label_features_(label_features), options_(options), control_(control) {}

    // Reorders `labels` so that the first n_left are the left side; both sides ascending.
    // `n_threads` above 1 spreads one node over threads: for the few large nodes near the root.
    void split(std::span<int32_t> labels, int64_t n_left, uint64_t stream, int n_threads) {
        const auto n = static_cast<int64_t>(labels.size());
        if (n_left <= 0 || n_left >= n) return;
        node_.gather(label_features_, labels);
        const MatrixView& rows = node_.is_local() ? node_.rows : label_features_;
        auto row_of = [&](int64_t i) -> int64_t { return node_.is_local() ? i : labels[i]; };
        auto add = [&](std::vector<float>& sum, int64_t i, float factor) {
            const auto columns = rows.row(row_of(i));
            const auto values = rows.row_values(row_of(i));
            for (size_t e = 0; e < columns.size(); ++e) sum[columns[e]] += factor * values[e];
        };

        total_.assign(rows.n_cols, 0);
        left_.assign(rows.n_cols, 0);
        difference_.assign(rows.n_cols, 0);
        on_left_.assign(n, 0);
        scores_.resize(n);
        for (int64_t i = 0; i < n; ++i) {
            add(total_, i, 1);
            if (i % 4096 == 0) check_for_stop(n_threads);
        }

        Random random(options_.seed, stream);
        const auto first = random.below(static_cast<uint32_t>(n));
        const auto other = random.below(static_cast<uint32_t>(n - 1));
        add(difference_, first, 1);
        add(difference_, other < first ? other : other + 1, -1);

        order_.resize(n);
        for (int iteration = 0; iteration < options_.max_iter; ++iteration) {
            score_all(rows, row_of, n, n_threads);
            std::iota(order_.begin(), order_.end(), 0);
            std::nth_element(order_.begin(), order_.begin() + n_left, order_.end(),
                             [&](int32_t a, int32_t b) {
                                 return scores_[a] != scores_[b] ? scores_[a] > scores_[b] : a < b;
                             });
            int64_t n_moved = 0;
            auto place = [&](int64_t begin, int64_t end, char side) {
                for (int64_t j = begin; j < end; ++j) {
                    const int32_t i = order_[j];
                    if (on_left_[i] == side) continue;
                    add(left_, i, side ? 1.f : -1.f);
                    on_left_[i] = side;
                    ++n_moved;
                }
            };
            place(0, n_left, 1);
            place(n_left, n, 0);
            if (n_moved == 0) break;
            if (iteration + 1 < options_.max_iter)
                centroid_difference(left_.data(), total_.data(), rows.n_cols, difference_.data());
            check_for_stop(n_threads);
        }

        std::vector<int32_t> right;
        right.reserve(n - n_left);
        int64_t n_placed = 0;
        for (int64_t i = 0; i < n; ++i) {
            if (on_left_[i]) labels[n_placed++] = labels[i];
            else right.push_back(labels[i]);
        }
        std::copy(right.begin(), right.end(), labels.begin() + n_left);
    }

  private:
    // A node that is spread over threads runs on the calling thread, which also has to poll.
    void check_for_stop(int n_threads) {
        if (n_threads > 1) control_.poll();
        control_.throw_if_stopped();
    }

    template <class RowOf>
    void score_all(const MatrixView& rows, RowOf row_of, int64_t n, int n_threads) {
        auto score_block = [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                const int64_t row = row_of(i);
                const int64_t start = rows.starts[row];
                scores_[i] = dot(rows.columns + start, rows.values + start,
                                 rows.starts[row + 1] - start, difference_.data());
            }
        };
        if (n_threads <= 1) return score_block(0, n);
        const int64_t n_blocks = (n + labels_per_block - 1) / labels_per_block;
        parallel_for(n_blocks, n_threads, control_, [&](int64_t b, int) {
            score_block(b * labels_per_block, std::min(n, (b + 1) * labels_per_block));
        });
    }

    const MatrixView& label_features_;
    const TreeOptions& options_;
    RunControl& control_;
    NodeRows node_;
    std::vector<float> total_, left_, difference_, scores_;
    std::vector<char> on_left_;
    std::vector<int32_t> order_;
};

// Where to cut a node of `n_leaves` leaves: at a boundary of the highest tree level that it spans.
int64_t leaves_on_the_left(int64_t n_leaves, const std::vector<int64_t>& leaves_below) {
    for (const int64_t unit : leaves_below) {
        if (unit < n_leaves) return (n_leaves / unit / 2) * unit;
    }
    throw std::logic_error("a single leaf cannot be cut");
}

}  // namespace

LeafPartition partition_labels(const MatrixView& label_features, const TreeOptions& options,
                               int n_threads, RunControl& control) {
    const int64_t n_labels = label_features.n_rows;
    std::vector<int64_t> leaves_below;  // under one node of each level below the root
    int64_t n_leaves = 1;
    for (auto fan_out = options.fan_outs.rbegin(); fan_out != options.fan_outs.rend(); ++fan_out) {
        if (*fan_out < 1) throw std::invalid_argument("a fan-out must be at least 1");
        leaves_below.insert(leaves_below.begin(), n_leaves);
        n_leaves *= *fan_out;
    }

    LeafPartition result;
    result.labels.resize(n_labels);
    std::iota(result.labels.begin(), result.labels.end(), 0);
    result.starts.assign(n_leaves + 1, 0);
    result.starts[n_leaves] = n_labels;

    std::vector<std::unique_ptr<Bisector>> bisectors(std::max(1, n_threads));
    for (auto& bisector : bisectors)
        bisector = std::make_unique<Bisector>(label_features, options, control);

    std::vector<Node> nodes{{0, n_labels, 0, n_leaves}};
    uint64_t n_done = 0;  // numbers the splits breadth-first: the random stream of each
    while (!nodes.empty()) {
        std::vector<Node> next(2 * nodes.size());
        auto split_node = [&](int64_t j, int worker, int threads_inside) {
            const Node node = nodes[j];
            if (node.n_leaves <= 1) return;
            const int64_t left_leaves = leaves_on_the_left(node.n_leaves, leaves_below);
            const int64_t size = node.end - node.begin;
            const int64_t n_left = (size * left_leaves + node.n_leaves / 2) / node.n_leaves;
            const std::span<int32_t> labels(result.labels.data() + node.begin, size);
            bisectors[worker]->split(labels, n_left, n_done + j, threads_inside);
            const int64_t cut = node.begin + n_left;
            result.starts[node.first_leaf + left_leaves] = cut;
            next[2 * j] = {node.begin, cut, node.first_leaf, left_leaves};
            next[2 * j + 1] = {cut, node.end, node.first_leaf + left_leaves,
                               node.n_leaves - left_leaves};
            control.advance(size);
        };
        const auto n_nodes = static_cast<int64_t>(nodes.size());
        if (n_nodes < n_threads) {
            for (int64_t j = 0; j < n_nodes; ++j) split_node(j, 0, n_threads);
        } else {
            parallel_for(n_nodes, n_threads, control,
                         [&](int64_t j, int worker) { split_node(j, worker, 1); });
        }
        n_done += nodes.size();
        std::erase_if(next, [](const Node& node) { return node.n_leaves <= 1; });
        nodes = std::move(next);
    }
    return result;
}

}  // namespace polyseme
