#include "sparse_trainer.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "sparse_solver.hpp"

namespace polyseme {

namespace {

constexpr uint64_t slots_of_a_cluster = 1 << 16;  // no cluster may have more

struct KeptWeight {
    int32_t column;
    float weight;
};

// What is left of the weights of a slot.
struct SlotWeights {
    std::vector<KeptWeight> kept;  // columns ascend
    std::vector<float> dense;
    float bias = 0;
};

struct TrainedSlot {
    SlotWeights weights, draft;
};

// Leaves the largest; of equal ones the first.
void keep_largest(std::vector<KeptWeight>& kept, int64_t n) {
    if (std::ssize(kept) <= n) return;
    const auto is_larger = [](const KeptWeight& a, const KeptWeight& b) {
        const float of_a = std::fabs(a.weight), of_b = std::fabs(b.weight);
        return of_a != of_b ? of_a > of_b : a.column < b.column;
    };
    std::nth_element(kept.begin(), kept.begin() + n, kept.end(), is_larger);
    kept.resize(n);
    std::sort(kept.begin(), kept.end(),
              [](const KeptWeight& a, const KeptWeight& b) { return a.column < b.column; });
}

SlotWeights keep_weights(const LocalColumns& columns, const std::vector<float>& weights,
                         const Pruning& pruning) {
    SlotWeights result;
    for (int32_t c = 0; c < columns.n_sparse; ++c) {
        const float magnitude = std::fabs(weights[c]);
        if (magnitude > 0 && magnitude >= pruning.threshold) result.kept.push_back({c, weights[c]});
    }
    if (pruning.max_weights > 0) keep_largest(result.kept, pruning.max_weights);
    const auto first_dense = weights.begin() + columns.n_sparse;
    result.dense.assign(first_dense, first_dense + columns.documents.n_dense);
    if (columns.has_bias()) result.bias = weights.back() * columns.bias;
    return result;
}

// The slots of one cluster on the rows that they share.
class SparseCluster {
  public:
    SparseCluster(const SlotTask& task, int64_t cluster, const SolverOptions& solver, const Pruning& pruning,
                  uint64_t seed)
        : task_(task), cluster_(cluster), solver_(solver), pruning_(pruning), seed_(seed),
          columns_(task.documents, task.training_rows.row(cluster), solver.bias),
          trained_(task.slot_starts[cluster + 1] - task.slot_starts[cluster]) {}

    const LocalColumns& columns() const { return columns_; }
    int64_t n_slots() const { return std::ssize(trained_); }

    void train(int64_t slot, SparseSolver& solver) {
        std::vector<float> pulls = pulls_of(slot);
        const Random random(seed_, task_.cluster_number(cluster_) * slots_of_a_cluster + slot);
        if (task_.held_out != nullptr) {
            std::vector<float> known = pulls;
            for (size_t i = 0; i < known.size(); ++i)
                if (task_.held_out[columns_.rows[i]]) known[i] = 0;
            solver.solve(known, task_.draft_solver, random, false);
            trained_[slot].draft = keep_weights(columns_, solver.weights(), pruning_);
        }
        solver.solve(pulls, solver_, random, task_.held_out != nullptr);
        trained_[slot].weights = keep_weights(columns_, solver.weights(), pruning_);
    }

    TrainedCluster joined(SlotWeights TrainedSlot::* which) const {
        TrainedCluster result;
        std::vector<uint32_t> counts(columns_.n_sparse, 0), write_at(columns_.n_sparse);
        for (const auto& slot : trained_) {
            const SlotWeights& own = slot.*which;
            for (const auto& kept : own.kept) ++counts[kept.column];
            result.bias.push_back(own.bias);
            result.dense.insert(result.dense.end(), own.dense.begin(), own.dense.end());
        }
        uint32_t n_kept = 0;
        for (int32_t c = 0; c < columns_.n_sparse; ++c) {
            if (counts[c] == 0) continue;
            result.features.push_back(columns_.features[c]);
            result.counts.push_back(counts[c]);
            write_at[c] = n_kept;
            n_kept += counts[c];
        }
        result.columns.resize(n_kept);
        result.weights.resize(n_kept);
        for (size_t slot = 0; slot < trained_.size(); ++slot) {
            for (const auto& [column, weight] : (trained_[slot].*which).kept) {
                const uint32_t at = write_at[column]++;
                result.columns[at] = static_cast<uint16_t>(slot);
                result.weights[at] = weight;
            }
        }
        return result;
    }

  private:
    std::vector<float> pulls_of(int64_t slot) const {
        const auto documents = columns_.rows;
        std::vector<float> pulls(documents.size(), -1);
        const int32_t target = task_.slot_targets[task_.slot_starts[cluster_] + slot];
        const float own_pull = task_.target_weights ? std::sqrt(task_.target_weights[target]) : 1.f;
        const bool some_do_not_count = task_.own_documents.n_rows > 0;
        std::vector<size_t> not_own;
        size_t n_own = 0;
        for (const int32_t document : task_.positives.row(target)) {
            const auto found = std::lower_bound(documents.begin(), documents.end(), document);
            if (found == documents.end() || *found != document) continue;
            const size_t row = found - documents.begin();
            if (some_do_not_count && !is_own(document)) {
                not_own.push_back(row);
            } else {
                pulls[row] = own_pull;
                ++n_own;
            }
        }
        // A slot without documents of its own has all of the label's.
        for (const size_t row : not_own) pulls[row] = n_own > 0 ? 0 : own_pull;
        return pulls;
    }

    bool is_own(int32_t document) const {
        const auto own = task_.own_documents.row(cluster_);
        return std::binary_search(own.begin(), own.end(), document);
    }

    const SlotTask& task_;
    const int64_t cluster_;
    const SolverOptions& solver_;
    const Pruning& pruning_;
    const uint64_t seed_;
    const LocalColumns columns_;
    std::vector<TrainedSlot> trained_;
};

}  // namespace

TrainedLevel train_sparse_clusters(const SlotTask& task, const SolverOptions& solver, const Pruning& pruning,
                                   bool byte_weights, uint64_t seed, int n_threads, RunControl& control) {
    const int64_t n_clusters = task.training_rows.n_rows;
    std::vector<PackedCluster> finished(n_clusters), drafts(task.held_out ? n_clusters : 0);
    const auto finish = [&](int64_t c, const SparseCluster& cluster) {
        finished[c] = pack_cluster(cluster.joined(&TrainedSlot::weights), byte_weights);
        if (task.held_out != nullptr)
            drafts[c] = pack_cluster(cluster.joined(&TrainedSlot::draft), byte_weights);
    };

    // The slots of a large cluster are spread over the threads; small ones are a thread's own.
    std::vector<int64_t> large, small;
    for (int64_t c = 0; c < n_clusters; ++c) {
        int64_t n_entries = 0;
        for (const int32_t document : task.training_rows.row(c))
            n_entries += std::ssize(task.documents.sparse.row(document)) + task.documents.n_dense;
        (n_entries > task.max_entries_whole ? large : small).push_back(c);
    }
    for (const int64_t c : large) {
        SparseCluster cluster(task, c, solver, pruning, seed);
        std::vector<int64_t> by_size(cluster.n_slots());
        std::iota(by_size.begin(), by_size.end(), 0);
        const auto n_positives = [&](int64_t slot) {
            return task.positives.row(task.slot_targets[task.slot_starts[c] + slot]).size();
        };
        std::stable_sort(by_size.begin(), by_size.end(),
                         [&](int64_t a, int64_t b) { return n_positives(a) > n_positives(b); });
        std::vector<std::unique_ptr<SparseSolver>> solvers(std::max(1, n_threads));
        parallel_for(cluster.n_slots(), n_threads, control, [&](int64_t i, int worker) {
            if (!solvers[worker])
                solvers[worker] = std::make_unique<SparseSolver>(cluster.columns(), control);
            cluster.train(by_size[i], *solvers[worker]);
            control.advance();
        });
        finish(c, cluster);
    }
    parallel_for(std::ssize(small), n_threads, control, [&](int64_t i, int) {
        SparseCluster cluster(task, small[i], solver, pruning, seed);
        SparseSolver own_solver(cluster.columns(), control);
        for (int64_t slot = 0; slot < cluster.n_slots(); ++slot) {
            cluster.train(slot, own_solver);
            control.advance();
        }
        finish(small[i], cluster);
    });

    TrainedLevel level;
    level.weights = join_clusters(finished, task.documents.sparse.n_cols);
    if (task.held_out != nullptr) level.draft = join_clusters(drafts, task.documents.sparse.n_cols);
    return level;
}

}  // namespace polyseme
