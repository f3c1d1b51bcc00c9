#include "uniform_cost_search.hpp"

#include <algorithm>
#include <limits>

#include "top_k.hpp"

namespace polyseme {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_known = -1;

// A little less than `least`, since sums of slots are rounded, each in its own order.
float rounded_down(float least, const SlotTable& table, Merge merge) {
    if (!table.overlapping || merge == Merge::max) return least;
    const float doubt = 2.5e-7f * float(table.most_copies + 1);
    return doubt < 1 && least > 0 ? least * (1 - doubt) - 1e-44f : -infinity;
}

// How many times the best of its slots a label may get.
float most_by_slots(Merge merge, int64_t n_slots) { return merge == Merge::sum ? float(n_slots) : 1.f; }

// The best first; of equals the deeper one, then the lower number.
bool comes_later(const ScoredNode& one, const ScoredNode& other) {
    if (one.score != other.score) return one.score < other.score;
    return one.depth != other.depth ? one.depth < other.depth : one.node > other.node;
}

template <class T>
void grow(std::vector<T>& values, int64_t n, T value) {
    if (std::ssize(values) < n) values.resize(n, value);
}

// What is known of one document, for as long as it lives.
class Search {
  public:
    Search(const SearchTree& tree, const Document& document, Merge merge, SearchScratch& scratch)
        : tree_(tree), ranker_(*tree.ranker), table_(*tree.table), document_(document), merge_(merge),
          scratch_(scratch) {
        scratch.queue.clear();
        scratch.opened.clear();
        scratch.seen.clear();
        n_slot_scores_ = 0;
        if (!table_.overlapping) return;
        // The scratch serves models of all sizes in turn.
        grow(scratch.node_scores, tree.n_levels() + 1, {});
        grow(scratch.node_scores[0], 1, not_known);
        for (int32_t depth = 1; depth <= tree.n_levels(); ++depth)
            grow(scratch.node_scores[depth], tree.levels[depth - 1]->n_slots(), not_known);
        grow(scratch.offsets, ranker_.n_clusters(), int64_t{-1});
        grow(scratch.gained, table_.n_labels, not_known);
        scratch.node_scores[0][0] = 1;
    }
    ~Search() {
        if (!table_.overlapping) return;
        for (const int32_t label : scratch_.seen) scratch_.gained[label] = not_known;
        for (const ScoredNode& one : scratch_.opened) {
            if (is_cluster(one.depth)) {
                scratch_.offsets[one.node] = -1;
                continue;
            }
            const auto first = scratch_.node_scores[one.depth + 1].begin();
            const LinearLevel& level = *tree_.levels[one.depth];
            std::fill(first + level.first_slot(one.node), first + level.first_slot(one.node + 1), not_known);
        }
        scratch_.node_scores[0][0] = not_known;
    }
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;

    bool is_cluster(int32_t depth) const { return depth == tree_.n_levels(); }

    // Scores what is below some nodes of one depth. Calls visit(child, score), a child being a slot
    // where the node is a cluster.
    template <class F>
    void open(std::span<const ScoredNode> nodes, F&& visit) {
        const int32_t depth = nodes[0].depth;
        const LinearLevel& level = is_cluster(depth) ? ranker_ : *tree_.levels[depth];
        scratch_.together.clear();
        for (const ScoredNode& one : nodes) scratch_.together.push_back(one.node);
        level.find(document_, scratch_.together, scratch_.found);
        for (size_t rank = 0; rank < nodes.size(); ++rank) {
            const int32_t node = nodes[rank].node;
            const int64_t size = level.size(node);
            grow(scratch_.scores, padded(size), 0.f);
            float* const scores = scratch_.scores.data();
            level.score(node, scratch_.found, rank, nodes[rank].score, tree_.activation, scores);
            // What is no number, since a margin overflowed, is nothing.
            for (int64_t j = 0; j < size; ++j) scores[j] = scores[j] >= 0 ? scores[j] : 0;
            const auto first = static_cast<int32_t>(level.first_slot(node));
            if (table_.overlapping) remember(nodes[rank], first, {scores, static_cast<size_t>(size)});
            for (int32_t j = 0; j < size; ++j) visit(first + j, scores[j]);
        }
    }

    // Adds what a slot gives to its label; returns what the label has, and whether it is new.
    std::pair<float, bool> gain(int32_t slot, float score) {
        const int32_t label = table_.labels[slot];
        float& gained = scratch_.gained[label];
        const bool is_new = gained < 0;
        if (is_new) scratch_.seen.push_back(label);
        const float own = merge_ == Merge::mean ? score / float(n_slots_of(label)) : score;
        gained = is_new ? own : merge_ == Merge::max ? std::max(gained, own) : gained + own;
        return {gained, is_new};
    }

    int64_t n_slots_of(int32_t label) const { return std::ssize(table_.slots_of(label)); }

    // The score of a label by all of its slots; false if it does not get to `least`. Nodes above slots
    // that are missing are opened as far as that takes.
    bool complete(int32_t label, float least, float& merged) {
        const float enough = rounded_down(least, table_, merge_);
        const auto slots = table_.slots_of(label);
        for (;;) {
            float sum = 0, most_known = 0;
            ScoredNode best{-1, 0, 0};  // of those above missing slots
            for (const int32_t slot : slots) {
                const int32_t cluster = table_.clusters[slot];
                float score;
                if (scratch_.offsets[cluster] >= 0) {
                    score =
                        scratch_.slot_scores[scratch_.offsets[cluster] + slot - ranker_.first_slot(cluster)];
                    most_known = std::max(most_known, score);
                } else {
                    const ScoredNode above = lowest_known(cluster);
                    score = above.score;
                    if (above.score > best.score) best = above;
                }
                sum += score;
            }
            merged = merge_ == Merge::max   ? std::max(most_known, best.score)
                     : merge_ == Merge::sum ? sum
                                            : sum / float(slots.size());
            const bool is_settled = merge_ == Merge::max && best.score <= most_known;
            if (best.score < 0 || is_settled) return merged >= least;
            if (merged < enough) return false;
            open({&best, 1}, [](int32_t, float) {});
        }
    }

  private:
    // The lowest node above a cluster whose score is known, or the cluster.
    ScoredNode lowest_known(int32_t cluster) const {
        int32_t depth = tree_.n_levels(), node = cluster;
        while (scratch_.node_scores[depth][node] < 0) node = tree_.parents[--depth][node];
        return {scratch_.node_scores[depth][node], depth, node};
    }

    void remember(const ScoredNode& node, int32_t first, std::span<const float> scores) {
        scratch_.opened.push_back(node);
        if (!is_cluster(node.depth)) {
            std::copy(scores.begin(), scores.end(), scratch_.node_scores[node.depth + 1].begin() + first);
            return;
        }
        grow(scratch_.slot_scores, n_slot_scores_ + std::ssize(scores), 0.f);
        std::copy(scores.begin(), scores.end(), scratch_.slot_scores.begin() + n_slot_scores_);
        scratch_.offsets[node.node] = n_slot_scores_;
        n_slot_scores_ += std::ssize(scores);
    }

    const SearchTree& tree_;
    const LinearLevel& ranker_;
    const SlotTable& table_;
    const Document& document_;
    Merge merge_;
    SearchScratch& scratch_;
    int64_t n_slot_scores_ = 0;
};

// Opens nodes, best first, for as long as the best that is left may matter; returns its score.
template <class Matters, class F>
float open_best_first(const SearchTree& tree, Search& search, SearchScratch& scratch, Matters&& may_matter,
                      F&& visit_slot) {
    auto& queue = scratch.queue;
    queue.push_back({1, 0, 0});
    while (!queue.empty() && may_matter(queue.front().score)) {
        const ScoredNode best = queue.front();
        std::pop_heap(queue.begin(), queue.end(), comes_later);
        queue.pop_back();
        if (best.depth == tree.n_levels()) {
            search.open({&best, 1}, visit_slot);
            continue;
        }
        search.open({&best, 1}, [&](int32_t child, float score) {
            queue.push_back({score, best.depth + 1, child});
            std::push_heap(queue.begin(), queue.end(), comes_later);
        });
    }
    return queue.empty() ? 0 : queue.front().score;
}

// Raises the score of a label that may be among the best already.
void raise(TopK& best, int32_t* labels, float* scores, int32_t label, float score) {
    if (score < best.threshold()) return;
    int32_t at = 0;
    while (at < best.size() && labels[at] != label) ++at;
    if (at == best.size()) return best.offer(label, score);
    for (; at > 0 && (scores[at - 1] < score || (scores[at - 1] == score && labels[at - 1] > label)); --at) {
        labels[at] = labels[at - 1];
        scores[at] = scores[at - 1];
    }
    labels[at] = label;
    scores[at] = score;
}

// Every label has one slot, and what it gets there is its score.
int32_t search_without_merging(const SearchTree& tree, Search& search, int32_t k, SearchScratch& scratch,
                               int32_t* labels, float* scores) {
    TopK best(labels, scores, k);
    // A node that is as good as the worst label so far may have a lower label that is as good.
    open_best_first(
        tree, search, scratch, [&](float score) { return score >= best.threshold(); },
        [&](int32_t slot, float score) { best.offer(tree.table->labels[slot], score); });
    return best.size();
}

}  // namespace

SearchTree::SearchTree(std::span<const LinearLevel* const> l, const LinearLevel& r, const SlotTable& t,
                       Activation a)
    : levels(l), ranker(&r), table(&t), activation(a) {
    if (!table->overlapping) return;  // nobody goes up again
    for (const LinearLevel* level : levels) {
        auto& above = parents.emplace_back(level->n_slots());
        for (int64_t node = 0; node < level->n_clusters(); ++node)
            std::fill(above.begin() + level->first_slot(node), above.begin() + level->first_slot(node + 1),
                      static_cast<int32_t>(node));
    }
}

Thresholds::Thresholds(const SearchTree& tree, Merge merge, float least)
    : of_all(least),
      of_slots(rounded_down(least, *tree.table, merge) / most_by_slots(merge, tree.table->most_copies)) {}

Thresholds::Thresholds(const SearchTree& tree, Merge merge, std::span<const float> own) : of_labels(own) {
    // From slots to clusters to the root: the least of what is below.
    const SlotTable& table = *tree.table;
    least_in.resize(tree.n_levels() + 1);
    const auto least_below = [](const LinearLevel& level, auto&& least_of_child) {
        std::vector<float> least(level.n_clusters(), infinity);
        for (int64_t node = 0; node < level.n_clusters(); ++node)
            for (int64_t child = level.first_slot(node); child < level.first_slot(node + 1); ++child)
                least[node] = std::min(least[node], least_of_child(child));
        return least;
    };
    least_in.back() = least_below(*tree.ranker, [&](int64_t slot) {
        const int32_t label = table.labels[slot];
        return rounded_down(own[label], table, merge) /
               most_by_slots(merge, std::ssize(table.slots_of(label)));
    });
    for (int32_t depth = tree.n_levels() - 1; depth >= 0; --depth)
        least_in[depth] =
            least_below(*tree.levels[depth], [&](int64_t node) { return least_in[depth + 1][node]; });
}

int32_t search_top_k(const SearchTree& tree, const Document& document, Merge merge, int32_t k,
                     SearchScratch& scratch, int32_t* labels, float* scores) {
    const SlotTable& table = *tree.table;
    Search search(tree, document, merge, scratch);
    if (!table.overlapping) return search_without_merging(tree, search, k, scratch, labels, scores);

    // What labels have so far is the least that they will have; those not yet seen have to get all
    // of it from the nodes that are left.
    TopK so_far(labels, scores, k);
    const float most = most_by_slots(merge, table.most_copies);
    const float left = open_best_first(
        tree, search, scratch,
        [&](float score) { return score * most >= rounded_down(so_far.threshold(), table, merge); },
        [&](int32_t slot, float score) {
            const auto [gained, is_new] = search.gain(slot, score);
            if (is_new) so_far.offer(table.labels[slot], gained);
            else raise(so_far, labels, scores, table.labels[slot], gained);
        });

    // Those are likely the best, and raise what the others have to get to.
    scratch.chosen.assign(labels, labels + so_far.size());
    const float surely = rounded_down(so_far.threshold(), table, merge);
    TopK best(labels, scores, k);
    const auto least = [&] { return std::max(surely, best.threshold()); };
    const auto consider = [&](int32_t label) {
        float merged;
        if (search.complete(label, least(), merged)) best.offer(label, merged);
    };
    std::vector<float>& gained = scratch.gained;
    std::vector<int32_t>& chosen = scratch.chosen;
    for (const int32_t label : chosen) consider(label);
    std::sort(chosen.begin(), chosen.end());
    for (const int32_t label : scratch.seen) {
        const auto n_slots = search.n_slots_of(label);
        const float to_come = merge == Merge::sum ? float(n_slots - 1) * left : left;
        const float at_most = merge == Merge::max ? std::max(gained[label], left) : gained[label] + to_come;
        if (at_most < rounded_down(least(), table, merge)) continue;
        if (!std::binary_search(chosen.begin(), chosen.end(), label)) consider(label);
    }
    return best.size();
}

void search_above(const SearchTree& tree, const Document& document, Merge merge, const Thresholds& thresholds,
                  SearchScratch& scratch, std::vector<std::pair<int32_t, float>>& result) {
    constexpr size_t at_once = 16;
    const SlotTable& table = *tree.table;
    Search search(tree, document, merge, scratch);
    result.clear();
    const auto visit_slot = [&](int32_t slot, float score) {
        const int32_t label = table.labels[slot];
        if (table.overlapping) search.gain(slot, score);
        else if (score >= thresholds.of(label)) result.emplace_back(label, score);
    };
    // Level by level: all nodes that may matter are opened, whatever their order.
    auto& nodes = scratch.queue;
    nodes.push_back({1, 0, 0});
    for (int32_t depth = 0; depth <= tree.n_levels(); ++depth) {
        const auto n = nodes.size();
        for (size_t begin = 0; begin < n; begin += at_once) {
            // A copy, since more nodes are added meanwhile.
            ScoredNode some[at_once];
            const size_t n_some = std::min(at_once, n - begin);
            std::copy_n(nodes.begin() + begin, n_some, some);
            if (search.is_cluster(depth)) search.open({some, n_some}, visit_slot);
            else
                search.open({some, n_some}, [&](int32_t child, float score) {
                    if (score >= thresholds.of_node(depth + 1, child))
                        nodes.push_back({score, depth + 1, child});
                });
        }
        nodes.erase(nodes.begin(), nodes.begin() + n);
        if (nodes.empty()) break;
    }
    // One of a label's slots has to give it its share, and all that has so much was opened; but then
    // the others count, too.
    for (const int32_t label : scratch.seen) {
        const float least = thresholds.of(label);
        const float n_shares = merge == Merge::max ? 1.f : float(search.n_slots_of(label));
        if (scratch.gained[label] * n_shares < rounded_down(least, table, merge)) continue;
        float merged;
        if (search.complete(label, least, merged)) result.emplace_back(label, merged);
    }
    std::sort(result.begin(), result.end());
}

}  // namespace polyseme
