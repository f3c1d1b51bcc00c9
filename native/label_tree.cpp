#include "label_tree.hpp"

#include <array>
#include <cmath>
#include <deque>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "two_means.hpp"

namespace polyseme {

namespace {

constexpr int64_t labels_per_block = 512;
constexpr int64_t n_sum_parts = 4;

// A run of labels that still has to be split into `n_leaves` leaves.
struct Node {
    int64_t begin, end;
    int64_t first_leaf, n_leaves;
    uint64_t number;  // the root is 0, the halves of j are 2j + 1 and 2j + 2: names the random stream
    int64_t size() const { return end - begin; }
};

// One vector minus another, both brought to unit length.
void unit_difference(const std::vector<float>& first, const std::vector<float>& second,
                     std::vector<float>& result) {
    double first_squares = 0, second_squares = 0;
    for (size_t f = 0; f < result.size(); ++f) {
        first_squares += double(first[f]) * first[f];
        second_squares += double(second[f]) * second[f];
    }
    const auto to_first = float(first_squares > 0 ? 1 / std::sqrt(first_squares) : 0);
    const auto to_second = float(second_squares > 0 ? 1 / std::sqrt(second_squares) : 0);
    for (size_t f = 0; f < result.size(); ++f) result[f] = first[f] * to_first - second[f] * to_second;
}

// What a thread needs.
struct Scratch {
    std::deque<GatheredRows> by_depth;  // of the node at hand and those above it
    TwoMeans means;
    std::vector<float> direction;
    std::vector<std::array<std::vector<float>, 2>> sums;  // of a part of the labels, right and left
};

class Partitioner {
  public:
    Partitioner(const LabelFeatures& label_features, const TreeOptions& options, int n_threads,
                RunControl& control)
        : label_features_(label_features), options_(options), n_threads_(n_threads), control_(control),
          scratch_(std::max(1, n_threads)) {
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
            if (node.n_leaves > 1) (node.size() > options_.sample_size ? large : small).push_back(node);
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
            finish(
                small[j], scratch(worker), 0, [&](int64_t i) { return label_features_.rows[labels[i]]; },
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
        for (int64_t i = node.begin; i < node.end; ++i) n += label_features_.rows[result_.labels[i]].size;
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
        if (n_nodes >= n_threads_) {
            parallel_for(n_nodes, n_threads_, control_, [&](int64_t j, int worker) {
                halves[j] = split(nodes[j], scratch(worker), [](int64_t n_parts, auto&& work) {
                    for (int64_t part = 0; part < n_parts; ++part) work(part);
                });
            });
            return;
        }
        for (int64_t j = 0; j < n_nodes; ++j) {
            halves[j] = split(nodes[j], scratch(0), [&](int64_t n_parts, auto&& work) {
                parallel_for(n_parts, n_threads_, control_, [&](int64_t part, int) { work(part); });
            });
        }
    }

    // `for_each_part(n, work)` runs work(0) to work(n - 1) on as many threads as there are to spare.
    template <class ForEachPart>
    std::array<Node, 2> split(const Node& node, Scratch& own, ForEachPart&& for_each_part) {
        const auto halves = halves_of(node);
        for_each_part(1, [&](int64_t) { find_direction(node, own); });
        const int64_t n_blocks = (node.size() + labels_per_block - 1) / labels_per_block;
        const auto end_of = [&](int64_t begin, int64_t size) { return std::min(node.end, begin + size); };
        for (int round = 0;; ++round) {
            for_each_part(n_blocks, [&](int64_t b) {
                const int64_t begin = node.begin + b * labels_per_block;
                score(begin, end_of(begin, labels_per_block), node, own.direction);
            });
            choose_sides(node, halves[0].size());
            if (round == options_.n_refinements) break;
            // Sums of parts, then of parts in order: the same for any number of threads.
            const int64_t part_size = (node.size() + n_sum_parts - 1) / n_sum_parts;
            own.sums.resize(n_sum_parts);
            for_each_part(n_sum_parts, [&](int64_t part) {
                const int64_t begin = node.begin + part * part_size;
                sum_sides(begin, end_of(begin, part_size), own.sums[part]);
            });
            for (int64_t part = 1; part < n_sum_parts; ++part)
                for (const int side : {0, 1})
                    for (size_t f = 0; f < own.direction.size(); ++f)
                        own.sums[0][side][f] += own.sums[part][side][f];
            unit_difference(own.sums[0][1], own.sums[0][0], own.direction);
        }
        divide(node, halves);
        return halves;
    }

    // The sums of the labels on the right and on the left.
    void sum_sides(int64_t begin, int64_t end, std::array<std::vector<float>, 2>& sums) {
        for (auto& sum : sums) sum.assign(label_features_.n_features, 0);
        for (int64_t i = begin; i < end; ++i) {
            const LabelRow& row = label_features_.rows[result_.labels[i]];
            float* const sum = sums[on_left_[i] ? 1 : 0].data();
            for (int64_t e = 0; e < row.size; ++e) sum[row.columns[e]] += row.factor * row.values[e];
            if (i % labels_per_block == 0) control_.throw_if_stopped();
        }
    }

    // The difference of the two centroids of an even sample.
    void find_direction(const Node& node, Scratch& own) {
        const int64_t n = options_.sample_size;
        if (own.by_depth.empty()) own.by_depth.emplace_back();
        auto& rows = own.by_depth[0];
        const int32_t* labels = result_.labels.data() + node.begin;
        rows.gather(
            n, [&](int64_t i) { return label_features_.rows[labels[i * node.size() / n]]; },
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
            finish(
                halves[half], own, depth + 1, [&](int64_t i) { return rows.row(members[half][i]); },
                rows.n_features());
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

LeafPartition partition_labels(const LabelFeatures& label_features, const TreeOptions& options, int n_threads,
                               RunControl& control) {
    return Partitioner(label_features, options, n_threads, control).run();
}

}  // namespace polyseme
