#include "slot_trainer.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>

#include "cluster_rows.hpp"

namespace polyseme {

namespace {

// Part of a cluster's slots, trained in one go.
struct Piece {
    int32_t cluster;
    int32_t first_slot, n_slots;  // within the cluster
    int32_t step;                 // slots of each piece of the cluster but the last
    int64_t n_entries;            // of the training rows; orders the work
};

// No cluster may have more slots than this.
constexpr uint64_t slots_of_a_cluster = 1 << 16;

struct KeptWeight {
    int32_t local_feature;
    uint16_t column;
    float weight;
};

int64_t count_entries(const SlotTask& task, int64_t cluster) {
    int64_t n = 0;
    for (const int32_t document : task.training_rows.row(cluster))
        n += std::ssize(task.documents.sparse.row(document));
    return n;
}

// Whether a cluster is trained in pieces, a vector of slots each, so that the few large clusters
// near the root keep all threads busy. By its own size alone: results must depend neither on the
// number of threads nor on the clusters that are trained with it.
bool is_large(const SlotTask& task, int64_t n_entries) { return n_entries > task.max_entries_whole; }

// What the rows of a cluster cost; a dense column costs about a quarter of a sparse entry.
int64_t count_work(const SlotTask& task, int64_t cluster) {
    return count_entries(task, cluster) +
           std::ssize(task.training_rows.row(cluster)) * task.documents.n_dense / 4;
}

// Whether a copy of the rows would take more memory than weights for all features do; their sums
// are rounded otherwise, so this too is a matter of the cluster alone.
bool is_read_in_place(const SlotTask& task, int64_t n_entries) {
    return is_large(task, n_entries) && n_entries > 8 * task.documents.sparse.n_cols;
}

// A root with few children is worth two narrow pieces rather than one wide one.
int32_t lanes_for(int32_t n_slots) { return n_slots > 16 ? 16 : 8; }

// What is left of the weights of a piece.
struct PieceWeights {
    std::vector<KeptWeight> kept;
    std::vector<float> bias;
    std::vector<float> dense;  // [slot][dense column]
};

struct TrainedPiece {
    // Local number to feature: shared ones, then single ones. None where numbers are kept.
    std::vector<int32_t> features;
    PieceWeights weights, draft;
};

template <class T>
class AlignedBuffer {
  public:
    T* get(size_t n) {
        if (n > capacity_) {
            data_.reset();
            data_.reset(static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{64})));
            capacity_ = n;
        }
        return data_.get();
    }

  private:
    struct Free {
        void operator()(T* p) const { ::operator delete(p, std::align_val_t{64}); }
    };
    std::unique_ptr<T, Free> data_;
    size_t capacity_ = 0;
};

class ClusterTrainer {
  public:
    ClusterTrainer(const SlotTask& task, const SolverOptions& solver, const Pruning& pruning, uint64_t seed,
                   const RunControl& control)
        : task_(task), solver_(solver), pruning_(pruning), seed_(seed), control_(control),
          rows_(task.documents) {}

    TrainedPiece train(const Piece& piece) {
        TrainedPiece result;
        if (piece.cluster != gathered_) {  // pieces of a cluster mostly follow one another
            const bool in_place = is_read_in_place(task_, count_entries(task_, piece.cluster));
            rows_.gather(task_.training_rows.row(piece.cluster), in_place);
            gathered_ = piece.cluster;
        }
        result.features = rows_.features();
        result.weights.dense.reserve(piece.n_slots * task_.documents.n_dense);
        for (int32_t done = 0; done < piece.n_slots;) {
            const int32_t left = piece.n_slots - done;
            const int n_lanes = lanes_for_last(left);
            const int32_t n_used = std::min<int32_t>(left, n_lanes);
            train_group(piece.cluster, piece.first_slot + done, n_used, n_lanes, result);
            done += n_used;
        }
        return result;
    }

  private:
    // Two slots, as binary trees have, need a quarter of the memory, which is mostly what they wait for.
    int lanes_for_last(int32_t n_left) const {
        if (n_left <= 2 && rows_.rows().n_dense == 0) return 2;
        return n_left > 8 ? 16 : 8;
    }

    // Writes the targets of one slot into its lane.
    void set_targets(int32_t cluster, int64_t slot, int lane, int n_lanes, int8_t* targets) {
        const auto positives = task_.positives.row(task_.slot_targets[slot]);
        bool any_own = false;
        if (task_.own_documents.n_rows > 0) {
            const auto own = task_.own_documents.row(cluster);
            for (const int32_t document : positives) {
                const int32_t row = rows_.row_of(document);
                if (row < 0) continue;
                const bool is_own = std::binary_search(own.begin(), own.end(), document);
                targets[int64_t{row} * n_lanes + lane] = is_own ? 1 : 0;
                any_own |= is_own;
            }
        }
        if (any_own) return;
        for (const int32_t document : positives) {
            const int32_t row = rows_.row_of(document);
            if (row >= 0) targets[int64_t{row} * n_lanes + lane] = 1;
        }
    }

    void train_group(int32_t cluster, int32_t first_slot, int32_t n_used, int n_lanes, TrainedPiece& result) {
        const LocalRows& rows = rows_.rows();
        const size_t n_rows = rows.n_rows();
        int8_t* targets = targets_.get(n_rows * n_lanes);
        float* duals = duals_.get(n_rows * n_lanes);
        float* weights = weights_.get(size_t(rows.n_weights()) * n_lanes + n_lanes);
        const int64_t slot = task_.slot_starts[cluster] + first_slot;
        const auto set_all_targets = [&] {
            for (size_t i = 0; i < n_rows; ++i) {
                std::fill(targets + i * n_lanes, targets + i * n_lanes + n_used, int8_t{-1});
                std::fill(targets + i * n_lanes + n_used, targets + (i + 1) * n_lanes, int8_t{0});
            }
            for (int lane = 0; lane < n_used; ++lane)
                set_targets(cluster, slot + lane, lane, n_lanes, targets);
        };
        set_all_targets();

        alignas(64) float bias_weights[16], positive_weights[16];
        std::fill_n(positive_weights, n_lanes, 1.f);
        for (int lane = 0; lane < n_used && task_.target_weights; ++lane)
            positive_weights[lane] = task_.target_weights[task_.slot_targets[slot + lane]];
        LaneProblem problem{n_lanes, targets, duals, weights, bias_weights, positive_weights};
        const uint64_t stream = task_.cluster_number(cluster) * slots_of_a_cluster + first_slot;
        const Random random(seed_, stream);
        if (task_.held_out != nullptr) {
            const auto documents = task_.training_rows.row(cluster);
            for (size_t i = 0; i < n_rows; ++i)
                if (task_.held_out[documents[i]]) std::fill_n(targets + i * n_lanes, n_lanes, int8_t{0});
            solve_lanes(rows, problem, task_.draft_solver, random, scratch_, control_);
            keep_solution(problem, first_slot, n_used, result.draft);
            set_all_targets();
            problem.goes_on = true;
        }
        solve_lanes(rows, problem, solver_, random, scratch_, control_);
        keep_solution(problem, first_slot, n_used, result.weights);
    }

    void keep_solution(const LaneProblem& problem, int32_t first_slot, int32_t n_used, PieceWeights& result) {
        const int n_lanes = problem.n_lanes;
        for (int lane = 0; lane < n_used; ++lane)
            result.bias.push_back(problem.bias_weights[lane] * solver_.bias);
        keep_weights(problem, first_slot, n_used, result.kept);
        const LocalRows& rows = rows_.rows();
        const float* const dense = problem.weights + size_t(rows.n_features) * n_lanes;
        for (int lane = 0; lane < n_used; ++lane)
            for (int32_t j = 0; j < rows.n_dense; ++j)
                result.dense.push_back(dense[size_t(j) * n_lanes + lane]);
    }

    // Calls visit(local feature, lane, weight) for every weight of at least the given magnitude.
    template <class Visit>
    void for_each_weight(const LaneProblem& problem, int32_t n_used, float least, Visit&& visit) {
        const int n_lanes = problem.n_lanes;
        auto offer = [&](int32_t feature, int lane, float weight) {
            const float magnitude = std::fabs(weight);
            if (magnitude > 0 && magnitude >= least) visit(feature, lane, weight);
        };
        const LocalRows& rows = rows_.rows();
        large_features_.clear();
        find_large_weights(problem, rows.n_features, least, large_features_);
        for (const int32_t f : large_features_)
            for (int lane = 0; lane < n_used; ++lane)
                offer(f, lane, problem.weights[size_t(f) * n_lanes + lane]);
        // The weight of a single feature is its row's dual times its value.
        for (int32_t i = 0; i < rows.n_rows(); ++i) {
            const float largest = std::sqrt(rows.rows[i].own_square);
            for (int lane = 0; lane < n_used; ++lane) {
                const size_t at = size_t(i) * n_lanes + lane;
                const float step = problem.duals[at] * float(problem.targets[at]);
                if (std::fabs(step) * largest * 1.0001f < least || step == 0) continue;
                rows_.for_each_single(
                    i, [&](int32_t feature, float value) { offer(feature, lane, step * value); });
            }
        }
    }

    void keep_weights(const LaneProblem& problem, int32_t first_slot, int32_t n_used,
                      std::vector<KeptWeight>& kept) {
        const size_t n_before = kept.size();
        for_each_weight(problem, n_used, pruning_.threshold, [&](int32_t f, int lane, float weight) {
            kept.push_back({f, static_cast<uint16_t>(first_slot + lane), weight});
        });
        if (pruning_.max_weights > 0) keep_largest(kept, n_before, first_slot, n_used);
    }

    // Of the weights since `n_before`, leaves each slot its largest ones.
    void keep_largest(std::vector<KeptWeight>& kept, size_t n_before, int32_t first_slot, int32_t n_used) {
        for (int32_t slot = first_slot; slot < first_slot + n_used; ++slot) {
            magnitudes_.clear();
            for (size_t e = n_before; e < kept.size(); ++e)
                if (kept[e].column == slot) magnitudes_.push_back(std::fabs(kept[e].weight));
            if (static_cast<int64_t>(magnitudes_.size()) <= pruning_.max_weights) continue;
            const auto nth = magnitudes_.begin() + (pruning_.max_weights - 1);
            std::nth_element(magnitudes_.begin(), nth, magnitudes_.end(), std::greater<>());
            const float least = *nth;
            int64_t n_equal = std::count(magnitudes_.begin(), nth + 1, least);  // ties: first come
            const auto drop = [&](const KeptWeight& weight) {
                if (weight.column != slot) return false;
                const float magnitude = std::fabs(weight.weight);
                return magnitude < least || (magnitude == least && n_equal-- <= 0);
            };
            kept.erase(std::remove_if(kept.begin() + n_before, kept.end(), drop), kept.end());
        }
    }

    const SlotTask& task_;
    const SolverOptions& solver_;
    const Pruning& pruning_;
    const uint64_t seed_;
    const RunControl& control_;
    int32_t gathered_ = -1;  // the cluster whose rows are at hand
    ClusterRows rows_;
    SolverScratch scratch_;
    std::vector<int32_t> large_features_;
    std::vector<float> magnitudes_;
    AlignedBuffer<int8_t> targets_;
    AlignedBuffer<float> duals_, weights_;
};

// Puts the pieces of a cluster together, or their drafts. Pieces gather the same
// rows in the same order, so their local feature numbers agree.
TrainedCluster join_pieces(std::vector<TrainedPiece>& pieces, PieceWeights TrainedPiece::* which,
                           size_t n_features) {
    TrainedCluster result;
    const auto& features = pieces[0].features;
    const size_t n_local = features.empty() ? n_features : features.size();
    std::vector<uint32_t> n_entries(n_local, 0);
    size_t n_kept = 0;
    for (auto& piece : pieces) {
        const PieceWeights& own = piece.*which;
        result.bias.insert(result.bias.end(), own.bias.begin(), own.bias.end());
        result.dense.insert(result.dense.end(), own.dense.begin(), own.dense.end());
        for (const auto& kept : own.kept) ++n_entries[kept.local_feature];
        n_kept += own.kept.size();
    }
    std::vector<uint32_t> write_at(n_local);
    uint32_t n_before = 0;
    for (size_t f = 0; f < n_local; ++f) {
        if (n_entries[f] == 0) continue;
        result.features.push_back(features.empty() ? static_cast<int32_t>(f) : features[f]);
        result.counts.push_back(n_entries[f]);
        write_at[f] = n_before;
        n_before += n_entries[f];
    }
    result.columns.resize(n_kept);
    result.weights.resize(n_kept);
    for (auto& piece : pieces) {
        for (const auto& kept : (piece.*which).kept) {
            const uint32_t at = write_at[kept.local_feature]++;
            result.columns[at] = kept.column;
            result.weights[at] = kept.weight;
        }
        piece.*which = PieceWeights();
    }
    return result;
}

std::vector<Piece> plan_pieces(const SlotTask& task) {
    std::vector<Piece> pieces;
    for (int64_t cluster = 0; cluster < task.training_rows.n_rows; ++cluster) {
        const auto n_slots = static_cast<int32_t>(task.slot_starts[cluster + 1] - task.slot_starts[cluster]);
        const int64_t n_entries = count_work(task, cluster);
        const int32_t step = is_large(task, n_entries) ? lanes_for(n_slots) : std::max(n_slots, 1);
        int32_t first = 0;
        do {
            const int32_t size = std::min(step, n_slots - first);
            pieces.push_back({static_cast<int32_t>(cluster), first, size, step, n_entries * (size / 16 + 1)});
            first += step;
        } while (first < n_slots);
    }
    std::stable_sort(pieces.begin(), pieces.end(),
                     [](const Piece& a, const Piece& b) { return a.n_entries > b.n_entries; });
    return pieces;
}

}  // namespace

TrainedLevel train_clusters(const SlotTask& task, const SolverOptions& solver, const Pruning& pruning,
                            bool byte_weights, uint64_t seed, int n_threads, RunControl& control) {
    const int64_t n_clusters = task.training_rows.n_rows;
    const std::vector<Piece> pieces = plan_pieces(task);
    std::vector<std::vector<TrainedPiece>> trained(n_clusters);
    std::vector<std::atomic<int32_t>> n_missing(n_clusters);
    for (const auto& piece : pieces) {
        auto& parts = trained[piece.cluster];
        parts.emplace_back();
        n_missing[piece.cluster].store(static_cast<int32_t>(parts.size()));
    }
    std::vector<PackedCluster> finished(n_clusters), drafts(task.held_out ? n_clusters : 0);
    std::vector<std::unique_ptr<ClusterTrainer>> trainers(std::max(1, n_threads));

    parallel_for(static_cast<int64_t>(pieces.size()), n_threads, control, [&](int64_t p, int worker) {
        if (!trainers[worker])
            trainers[worker] = std::make_unique<ClusterTrainer>(task, solver, pruning, seed, control);
        const Piece& piece = pieces[p];
        auto& parts = trained[piece.cluster];
        parts[piece.first_slot / piece.step] = trainers[worker]->train(piece);
        if (--n_missing[piece.cluster] == 0) {
            const auto packed = [&](PieceWeights TrainedPiece::* which) {
                return pack_cluster(join_pieces(parts, which, task.documents.sparse.n_cols), byte_weights);
            };
            if (task.held_out != nullptr) drafts[piece.cluster] = packed(&TrainedPiece::draft);
            finished[piece.cluster] = packed(&TrainedPiece::weights);
            std::vector<TrainedPiece>().swap(parts);
        }
        control.advance(piece.n_slots);
    });

    trainers.clear();
    TrainedLevel level;
    level.weights = join_clusters(finished, task.documents.sparse.n_cols);
    if (task.held_out != nullptr) level.draft = join_clusters(drafts, task.documents.sparse.n_cols);
    return level;
}

}  // namespace polyseme
