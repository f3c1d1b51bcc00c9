#include "label_tree.hpp"

#include <array>
#include <deque>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "two_means.hpp"

namespace polyseme {

namespace {

constexpr int64_t labels_per_block = 512;

// A run of labels that still has to be split into `n_leaves` leaves.
struct Node {
    int64_t begin, end;
    int64_t first_leaf, n_leaves;
    uint64_t number;  // the root is 0, the halves of j are 2j + 1 and 2j + 2: names the random stream
    int64_t size() const { return end - begin; }
};

// What a thread needs.
struct Scratch {
    std::deque<GatheredRows> by_depth;  // of the node at hand and those above it
    TwoMeans means;
    std::vector<float> direction;
};

class Partitioner {
  public:
    Partitioner(const LabelFeatures& label_features, const TreeOptions& options, int n_threads,
                RunControl& control)
        : label_features_(label_features), options_(options), n_threads_(n_threads),
          control_(control), scratch_(std::max(1, n_threads)) {
        int64_t n_leaves = 1;
        for (size_t level = options.fan_outs.size(); level-- > 0;) {
            if (options.fan_outs[level] < 1) throw std::invalid_argument("a fan-out must be at least 1");
            leaves_below_.insert(leaves_below_.begin(), n_leaves);
            n_leaves *= options.fan_outs[level];
        }
        const auto n_labels = std::ssize(label_features.rows);
        result_.labels.resize(n_labels);
        std::iota(result_.labels.begin(), result_.labels.end(), 0);
        result_.starts.assign(n_leaves + 1, 0);
        result_.starts[n_leaves] = n_labels;
        keys_.resize(n_labels);
        on_left_.resize(n_labels);
    }

    // Large nodes level by level, then each small one with all that is below it on one thread.
    LeafPartition run() {
        std::vector<Node> large, small;
        auto sort_out = [&](const Node& node) {
            if (node.n_leaves > 1)
                (node.size() > options_.sample_size ? large : small).push_back(node);
        };
        sort_out({0, std::ssize(result_.labels), 0, std::ssize(result_.starts) - 1, 0});
        while (!large.empty()) {
            const std::vector<Node> nodes = std::exchange(large, {});
            std::vector<std::array<Node, 2>> halves(nodes.size());
            split_large(nodes, halves);
            for (const auto& pair : halves)
                for (const Node& half : pair) sort_out(half);
        }
        std::sort(small.begin(), small.end(), [&](const Node& a, const Node& b) {
            return std::pair(-n_entries(a), a.begin) < std::pair(-n_entries(b), b.begin);
        });
        parallel_for(std::ssize(small), n_threads_, control_, [&](int64_t j, int worker) {
            const int32_t* labels = result_.labels.data() + small[j].begin;
            finish(small[j], scratch(worker), 0,
                   [&](int64_t i) { return label_features_.rows[labels[i]]; },
                   label_features_.n_features);
        });
        return std::move(result_);
    }

  private:
    Scratch& scratch(int worker) {
        auto& own = scratch_[worker];
        if (!own) own = std::make_unique<Scratch>();
        return *own;
    }

    int64_t n_entries(const Node& node) const {
        int64_t n = 0;
        for (int64_t i = node.begin; i < node.end; ++i)
            n += label_features_.rows[result_.labels[i]].size;
        return n;
    }

    // Cuts leaves at a boundary of the highest tree level that the node spans, labels likewise.
    std::array<Node, 2> halves_of(const Node& node) const {
        for (const int64_t unit : leaves_below_) {
            if (unit >= node.n_leaves) continue;
            const int64_t left_leaves = node.n_leaves / unit / 2 * unit;
            const int64_t n_left = (node.size() * left_leaves + node.n_leaves / 2) / node.n_leaves;
            const int64_t cut = node.begin + n_left;
            return {{{node.begin, cut, node.first_leaf, left_leaves, 2 * node.number + 1},
                     {cut, node.end, node.first_leaf + left_leaves, node.n_leaves - left_leaves,
                      2 * node.number + 2}}};
        }
        throw std::logic_error("a single leaf cannot be cut");
    }

    void split_large(const std::vector<Node>& nodes, std::vector<std::array<Node, 2>>& halves) {
        const auto n_nodes = std::ssize(nodes);
        auto finish_split = [&](int64_t j) {
            halves[j] = halves_of(nodes[j]);
            choose_sides(nodes[j], halves[j][0].size());
            divide(nodes[j], halves[j]);
        };
        if (n_nodes >= n_threads_) {
            parallel_for(n_nodes, n_threads_, control_, [&](int64_t j, int worker) {
                find_direction(nodes[j], scratch(worker));
                score(nodes[j].begin, nodes[j].end, nodes[j], scratch(worker).direction);
                finish_split(j);
            });
            return;
        }
        for (int64_t j = 0; j < n_nodes; ++j) {
            const Node& node = nodes[j];
            auto& first = scratch(0);
            parallel_for(1, 1, control_, [&](int64_t, int) { find_direction(node, first); });
            const int64_t n_blocks = (node.size() + labels_per_block - 1) / labels_per_block;
            parallel_for(n_blocks, n_threads_, control_, [&](int64_t b, int) {
                const int64_t begin = node.begin + b * labels_per_block;
                score(begin, std::min(node.end, begin + labels_per_block), node, first.direction);
            });
            finish_split(j);
        }
    }

    // The difference of the two centroids of an even sample.
    void find_direction(const Node& node, Scratch& own) {
        const int64_t n = options_.sample_size;
        if (own.by_depth.empty()) own.by_depth.emplace_back();
        auto& rows = own.by_depth[0];
        const int32_t* labels = result_.labels.data() + node.begin;
        rows.gather(n, [&](int64_t i) { return label_features_.rows[labels[i * node.size() / n]]; },
                    label_features_.n_features);
        const int64_t n_left = halves_of(node)[0].size() * n / node.size();
        own.means.run(rows, n_left, options_.max_iter, Random(options_.seed, node.number), control_);
        own.direction.assign(label_features_.n_features, 0);
        for (int64_t f = 0; f < rows.n_features(); ++f)
            own.direction[rows.features[f]] = own.means.difference[f];
    }

    void score(int64_t begin, int64_t end, const Node& node, const std::vector<float>& direction) {
        for (int64_t i = begin; i < end; ++i) {
            const LabelRow& row = label_features_.rows[result_.labels[i]];
            keys_[i] = sort_key(dot(row, direction), i - node.begin);
            if (i % labels_per_block == 0) control_.throw_if_stopped();
        }
    }

    void choose_sides(const Node& node, int64_t n_left) {
        const auto begin = keys_.begin() + node.begin;
        std::nth_element(begin, begin + n_left, keys_.begin() + node.end);
        for (int64_t j = 0; j < node.size(); ++j)
            on_left_[node.begin + static_cast<uint32_t>(begin[j])] = j < n_left;
    }

    // Puts the labels of the left side before the others; both sides keep their order.
    void divide(const Node& node, const std::array<Node, 2>& halves) {
        std::vector<int32_t> right;
        right.reserve(halves[1].size());
        int64_t next = node.begin;
        for (int64_t i = node.begin; i < node.end; ++i) {
            const int32_t label = result_.labels[i];
            if (on_left_[i]) result_.labels[next++] = label;
            else right.push_back(label);
        }
        std::copy(right.begin(), right.end(), result_.labels.begin() + next);
        result_.starts[halves[1].first_leaf] = halves[1].begin;
        control_.advance(node.size());
    }

    // Splits a small node down to its leaves, depth first. Each half gathers its rows from those
    // of the whole, so that they become ever shorter.
    void finish(const Node& node, Scratch& own, size_t depth, const GatheredRows::RowOf& row_of,
                int64_t n_features) {
        if (node.n_leaves <= 1) return;
        const auto halves = halves_of(node);
        const int64_t n_left = halves[0].size();
        if (own.by_depth.size() <= depth) own.by_depth.emplace_back();
        auto& rows = own.by_depth[depth];
        rows.gather(node.size(), row_of, n_features);
        const auto sides = on_left_.begin() + node.begin;
        if (n_left > 0 && n_left < node.size()) {
            own.means.run(rows, n_left, options_.max_iter, Random(options_.seed, node.number), control_);
            std::copy(own.means.on_left.begin(), own.means.on_left.end(), sides);
        } else {
            std::fill_n(sides, node.size(), n_left > 0);
        }
        std::array<std::vector<int32_t>, 2> members;  // of the halves
        for (int64_t i = 0; i < node.size(); ++i)
            members[sides[i] ? 0 : 1].push_back(static_cast<int32_t>(i));
        divide(node, halves);
        for (const int half : {0, 1})
            finish(halves[half], own, depth + 1,
                   [&](int64_t i) { return rows.row(members[half][i]); }, rows.n_features());
    }

    const LabelFeatures& label_features_;
    const TreeOptions& options_;
    const int n_threads_;
    RunControl& control_;
    std::vector<int64_t> leaves_below_;  // under one node of each level below the root
    std::vector<std::unique_ptr<Scratch>> scratch_;
    std::vector<uint64_t> keys_;
    std::vector<char> on_left_;
    LeafPartition result_;
};

}  // namespace

LeafPartition partition_labels(const LabelFeatures& label_features, const TreeOptions& options,
                               int n_threads, RunControl& control) {
    return Partitioner(label_features, options, n_threads, control).run();
}

}  // namespace polyseme
