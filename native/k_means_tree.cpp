#include "k_means_tree.hpp"

#include <deque>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "k_means.hpp"
#include "two_means.hpp"

namespace polyseme {

namespace {

struct Node {
    std::vector<int32_t> labels;  // ascending
    int64_t level = 0;
    uint64_t number = 0;  // the root is 0, child c of j is j * branching + c + 1: names the random stream
    std::vector<Node> children;
};

// What a thread needs.
struct Scratch {
    std::deque<GatheredRows> by_depth;  // of the node at hand and those above it
    KMeans means;
};

class Grouper {
  public:
    Grouper(const LabelFeatures& label_features, const KMeansTreeOptions& options, int n_threads,
            RunControl& control)
        : label_features_(label_features), options_(options), n_threads_(std::max(1, n_threads)),
          control_(control), scratch_(n_threads_) {}

    // Large nodes one after the other with all threads, then each small one with all that is below it
    // on one thread.
    LabelGroups run() {
        Node root;
        root.labels.resize(label_features_.rows.size());
        std::iota(root.labels.begin(), root.labels.end(), 0);
        std::vector<Node*> waiting{&root}, small;
        while (!waiting.empty()) {
            Node& node = *waiting.back();
            waiting.pop_back();
            if (is_leaf(node)) continue;
            if (is_large(node)) {
                split_large(node);
            } else if (node.level == 0) {
                split_root(node);
            } else {
                small.push_back(&node);
                continue;
            }
            for (Node& child : node.children) waiting.push_back(&child);
        }
        std::sort(small.begin(), small.end(), [](const Node* a, const Node* b) {
            return std::pair(-std::ssize(a->labels), a->labels[0]) <
                   std::pair(-std::ssize(b->labels), b->labels[0]);
        });
        parallel_for(std::ssize(small), n_threads_, control_, [&](int64_t j, int worker) {
            finish(*small[j], scratch(worker), 0, row_of(*small[j]), label_features_.n_features);
        });
        return numbered(root);
    }

  private:
    int64_t sample_size() const { return std::max(options_.sample_size, options_.branching); }

    bool is_leaf(const Node& node) const {
        return std::ssize(node.labels) <= options_.max_leaf_size || node.level >= options_.max_levels;
    }

    bool is_large(const Node& node) const { return std::ssize(node.labels) > sample_size(); }

    GatheredRows::RowOf row_of(const Node& node) const {
        return [this, &labels = node.labels](int64_t i) { return label_features_.rows[labels[i]]; };
    }

    Scratch& scratch(int worker) {
        auto& own = scratch_[worker];
        if (!own) own = std::make_unique<Scratch>();
        return *own;
    }

    Random random_of(const Node& node) const { return Random(options_.seed, node.number); }

    void split_large(Node& node) {
        Scratch& own = scratch(0);
        const auto n = std::ssize(node.labels);
        std::vector<LabelRow> rows(n), sample(sample_size());
        for (int64_t i = 0; i < n; ++i) rows[i] = label_features_.rows[node.labels[i]];
        const auto n_sample = std::ssize(sample);
        if (own.by_depth.empty()) own.by_depth.emplace_back();
        auto& gathered = own.by_depth[0];
        gathered.gather(
            n_sample, [&](int64_t i) { return rows[i * n / n_sample]; }, label_features_.n_features);
        for (int64_t i = 0; i < n_sample; ++i) sample[i] = gathered.row(i);
        own.means.run(sample, gathered.n_features(), options_.branching, options_.max_iter, random_of(node),
                      n_threads_, control_);
        for (int64_t i = 0; i < n_sample; ++i) sample[i] = rows[i * n / n_sample];
        own.means.spread(sample, rows, label_features_.n_features, options_.n_refinements, n_threads_,
                         control_);
        divide(node, own.means.nearest);
    }

    void split_root(Node& node) {
        split_small(node, scratch(0), 0, row_of(node), label_features_.n_features, n_threads_);
    }

    // Splits a small node down to its leaves, depth first. Each child gathers its rows from those of
    // the whole, so that they become ever shorter.
    void finish(Node& node, Scratch& own, size_t depth, const GatheredRows::RowOf& row_of,
                int64_t n_features) {
        if (is_leaf(node)) return;
        const auto members = split_small(node, own, depth, row_of, n_features, 0);
        const auto& rows = own.by_depth[depth];
        for (size_t c = 0; c < node.children.size(); ++c) {
            finish(
                node.children[c], own, depth + 1, [&](int64_t i) { return rows.row(members[c][i]); },
                rows.n_features());
        }
    }

    std::vector<std::vector<int32_t>> split_small(Node& node, Scratch& own, size_t depth,
                                                  const GatheredRows::RowOf& row_of, int64_t n_features,
                                                  int n_threads) {
        if (own.by_depth.size() <= depth) own.by_depth.emplace_back();
        auto& gathered = own.by_depth[depth];
        const int64_t n = std::ssize(node.labels);
        gathered.gather(n, row_of, n_features);
        std::vector<LabelRow> rows(n);
        for (int64_t i = 0; i < n; ++i) rows[i] = gathered.row(i);
        own.means.run(rows, gathered.n_features(), std::min(options_.branching, n), options_.max_iter,
                      random_of(node), n_threads, control_);
        return divide(node, own.means.nearest);
    }

    // Makes a child of each centroid that has labels. Labels that cannot be told apart are shared out
    // evenly. Returns which of the node's labels each child has.
    std::vector<std::vector<int32_t>> divide(Node& node, const std::vector<int32_t>& nearest) {
        const int64_t n = std::ssize(node.labels);
        const int64_t most = std::min(options_.branching, n);
        std::vector<std::vector<int32_t>> members(most);
        for (int64_t i = 0; i < n; ++i) members[nearest[i]].push_back(static_cast<int32_t>(i));
        std::erase_if(members, [](const auto& child) { return child.empty(); });
        if (members.size() == 1 && most > 1) {
            const int64_t n_parts = std::min(most, (n + options_.max_leaf_size - 1) / options_.max_leaf_size);
            members.assign(n_parts, {});
            for (int64_t i = 0; i < n; ++i) members[i * n_parts / n].push_back(static_cast<int32_t>(i));
        }
        node.children.resize(members.size());
        for (size_t c = 0; c < members.size(); ++c) {
            Node& child = node.children[c];
            child.level = node.level + 1;
            child.number = node.number * static_cast<uint64_t>(options_.branching) + c + 1;
            child.labels.reserve(members[c].size());
            for (const int32_t i : members[c]) child.labels.push_back(node.labels[i]);
        }
        node.labels.clear();
        node.labels.shrink_to_fit();
        control_.advance(n);
        return members;
    }

    LabelGroups numbered(const Node& root) const {
        LabelGroups groups;
        groups.leaf_of_label.resize(label_features_.rows.size());
        std::deque<std::pair<const Node*, int64_t>> waiting{{&root, -1}};
        while (!waiting.empty()) {
            const auto [node, parent] = waiting.front();
            waiting.pop_front();
            const auto number = std::ssize(groups.parents);
            groups.parents.push_back(parent);
            for (const int32_t label : node->labels) groups.leaf_of_label[label] = number;
            for (const Node& child : node->children) waiting.emplace_back(&child, number);
        }
        return groups;
    }

    const LabelFeatures& label_features_;
    const KMeansTreeOptions& options_;
    const int n_threads_;
    RunControl& control_;
    std::vector<std::unique_ptr<Scratch>> scratch_;
};

}  // namespace

LabelGroups group_labels(const LabelFeatures& label_features, const KMeansTreeOptions& options, int n_threads,
                         RunControl& control) {
    if (options.branching < 2 || options.max_leaf_size < 1 || options.max_iter < 1)
        throw std::invalid_argument("a node needs two children at least, a leaf a label, a split a round");
    return Grouper(label_features, options, n_threads, control).run();
}

}  // namespace polyseme
