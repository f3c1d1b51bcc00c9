// Trained levels, and the walk of documents through them.
#include <memory>

#include "arrays.hpp"
#include "rank_and_merge.hpp"

namespace polyseme::bindings {

namespace {

Activation activation_of(const std::string& name) {
    if (name == "l3-hinge") return Activation::l3_hinge;
    if (name == "sigmoid") return Activation::sigmoid;
    if (name == "none") return Activation::none;
    throw std::invalid_argument("activation must be 'l3-hinge', 'sigmoid' or 'none', not '" + name + "'");
}

Merge merge_of(const std::string& name) {
    if (name == "mean") return Merge::mean;
    if (name == "sum") return Merge::sum;
    if (name == "max") return Merge::max;
    throw std::invalid_argument("merge must be 'mean', 'sum' or 'max', not '" + name + "'");
}

void require_starts(const In<int64_t>& starts, int64_t last, const char* message) {
    require(starts.size() > 0 && starts.data()[0] == 0, message);
    for (size_t i = 1; i < starts.size(); ++i)
        require(starts.data()[i - 1] <= starts.data()[i], message);
    require(starts.data()[starts.size() - 1] == last, message);
}

// Keeps the arrays alive that a level looks into.
struct BoundLevel {
    std::vector<nb::object> arrays;
    std::unique_ptr<LinearLevel> level;
};

template <class Key, class Column, class Weight>
BoundLevel level_of(const In<int64_t>& slot_starts, const In<int64_t>& row_starts,
                    const In<int64_t>& entry_starts, const In<uint32_t>& buckets,
                    const In<Key>& keys, const In<Column>& counts, const In<Column>& columns,
                    const In<Weight>& weights, const In<float>& values, const In<float>& bias,
                    int64_t n_features) {
    const auto size = [](const auto& array) { return static_cast<int64_t>(array.size()); };
    require(n_features >= 1, "there must be at least one feature");
    require(slot_starts.size() >= 1 && row_starts.size() == slot_starts.size() &&
                entry_starts.size() == slot_starts.size(), "slot, row and entry starts differ in length");
    require(keys.size() >= read_ahead && counts.size() == keys.size(), "keys and counts differ in length");
    require_starts(slot_starts, size(bias), "slot starts do not fit the bias");
    require_starts(row_starts, size(keys) - read_ahead, "row starts do not fit the keys");
    require_starts(entry_starts, size(columns), "entry starts do not fit the columns");
    require(weights.size() == columns.size(), "weights and columns differ in length");
    require(sizeof(Weight) != 1 || values.size() == 256, "bytes must stand for 256 values");
    require(buckets.size() % 2 == 0, "buckets are pairs");

    ClusterWeightsView<Key, Column, Weight> view;
    view.n_clusters = size(slot_starts) - 1;
    view.n_features = n_features;
    view.slot_starts = slot_starts.data();
    view.row_starts = row_starts.data();
    view.entry_starts = entry_starts.data();
    view.buckets = reinterpret_cast<const Bucket*>(buckets.data());
    view.keys = keys.data();
    view.counts = counts.data();
    view.columns = columns.data();
    view.weights = weights.data();
    view.values = values.data();
    view.bias = bias.data();
    BoundLevel bound;
    bound.level = make_linear_level(view, size(buckets) / 2);
    bound.arrays = {nb::cast(slot_starts), nb::cast(row_starts), nb::cast(entry_starts),
                    nb::cast(buckets), nb::cast(keys), nb::cast(counts), nb::cast(columns),
                    nb::cast(weights), nb::cast(values), nb::cast(bias)};
    return bound;
}

template <class Key, class Column, class Weight>
void bind_level(nb::module_& m) {
    m.def("linear_level", &level_of<Key, Column, Weight>, nb::arg("slot_starts").noconvert(),
          nb::arg("row_starts").noconvert(), nb::arg("entry_starts").noconvert(),
          nb::arg("buckets").noconvert(), nb::arg("keys").noconvert(),
          nb::arg("counts").noconvert(), nb::arg("columns").noconvert(),
          nb::arg("weights").noconvert(), nb::arg("values").noconvert(),
          nb::arg("bias").noconvert(), nb::arg("n_features"));
}

nb::tuple slot_weights(const BoundLevel& bound, int64_t cluster, int64_t slot) {
    require(cluster >= 0 && cluster < bound.level->n_clusters(), "there is no such cluster");
    std::vector<int32_t> features;
    std::vector<float> weights;
    for (const auto& [feature, weight] : bound.level->slot_weights(cluster, slot)) {
        features.push_back(feature);
        weights.push_back(weight);
    }
    return nb::make_tuple(to_numpy(std::move(features)), to_numpy(std::move(weights)));
}

struct Scratch {
    Beams beams;
    BeamScratch beam;
    RankScratch rank;
};

// One for each thread for good: a single document must not pay for allocations.
Scratch& thread_scratch() {
    thread_local Scratch scratch;
    return scratch;
}

// A matcher, with or without a ranker below it.
class Predictor {
  public:
    Predictor(const std::vector<BoundLevel*>& matcher, BoundLevel* ranker,
              const std::optional<In<int32_t>>& slot_labels, int64_t n_labels, int64_t n_features,
              const std::string& activation)
        : n_features_(n_features), n_labels_(n_labels), activation_(activation_of(activation)) {
        int64_t n_nodes = 1;
        for (const BoundLevel* bound : matcher) {
            require(bound->level->n_clusters() == n_nodes, "a level does not fit the one above it");
            n_nodes = bound->level->n_slots();
            levels_.push_back(bound->level.get());
        }
        if (ranker == nullptr) return;
        ranker_ = ranker->level.get();
        require(slot_labels.has_value(), "a ranker needs the labels of its slots");
        require(ranker_->n_clusters() == n_nodes, "the ranker does not fit the matcher");
        require(static_cast<int64_t>(slot_labels->size()) == ranker_->n_slots(),
                "slot labels do not fit the ranker");
        for (size_t s = 0; s < slot_labels->size(); ++s)
            require(slot_labels->data()[s] >= 0 && slot_labels->data()[s] < n_labels,
                    "a label number is out of range");
        slot_labels_ = *slot_labels;
        table_.emplace(*ranker_, std::span<const int32_t>(slot_labels_.data(), slot_labels_.size()),
                       n_labels);
    }

    nb::tuple match(const In<int64_t>& starts, const In<int32_t>& columns, const In<float>& values,
                    int32_t beam_size, int n_threads, const nb::object& progress) const {
        const MatrixView documents = matrix_view(starts, columns, values, n_features_, "X");
        require(beam_size > 0, "beam_size must be at least 1");
        const int64_t n = documents.n_rows;
        const int64_t n_nodes = levels_.empty() ? 1 : levels_.back()->n_slots();
        beam_size = static_cast<int32_t>(std::min<int64_t>(beam_size, n_nodes));
        Beams all;
        run_released(progress, [&](RunControl& control) {
            all.reset(n, beam_size);
            for_each_block(documents, n_threads, control, [&](int64_t begin, const MatrixView& block) {
                const Beams& beams = walk(block, beam_size);
                for (int64_t i = 0; i < block.n_rows; ++i) {
                    all.sizes[begin + i] = beams.sizes[i];
                    const int64_t from = i * beams.beam_size, to = (begin + i) * beam_size;
                    std::copy_n(beams.nodes.begin() + from, beams.sizes[i], all.nodes.begin() + to);
                    std::copy_n(beams.scores.begin() + from, beams.sizes[i], all.scores.begin() + to);
                }
            });
            return 0;
        });
        std::vector<int64_t> row_starts(n + 1, 0);
        for (int64_t i = 0; i < n; ++i) row_starts[i + 1] = row_starts[i] + all.sizes[i];
        std::vector<int32_t> clusters(row_starts[n]);
        std::vector<float> scores(row_starts[n]);
        std::vector<std::pair<int32_t, float>> row;
        for (int64_t i = 0; i < n; ++i) {
            row.clear();
            for (int32_t r = 0; r < all.sizes[i]; ++r)
                row.emplace_back(all.nodes[i * beam_size + r], all.scores[i * beam_size + r]);
            std::sort(row.begin(), row.end());
            for (size_t r = 0; r < row.size(); ++r) {
                clusters[row_starts[i] + r] = row[r].first;
                scores[row_starts[i] + r] = row[r].second;
            }
        }
        return nb::make_tuple(to_numpy(std::move(row_starts)), to_numpy(std::move(clusters)),
                              to_numpy(std::move(scores)));
    }

    nb::tuple top_k(const In<int64_t>& starts, const In<int32_t>& columns, const In<float>& values,
                    int32_t beam_size, int32_t k, const std::string& merge_name, int n_threads,
                    const nb::object& progress) const {
        const MatrixView documents = matrix_view(starts, columns, values, n_features_, "X");
        require(beam_size > 0 && k > 0, "beam_size and k must be at least 1");
        require(ranker_ != nullptr, "this predictor has no ranker");
        const Merge merge = merge_of(merge_name);
        const int64_t n = documents.n_rows;
        auto* labels = new int32_t[n * k];
        nb::capsule own_labels(labels, [](void* p) noexcept { delete[] static_cast<int32_t*>(p); });
        auto* scores = new float[n * k];
        nb::capsule own_scores(scores, [](void* p) noexcept { delete[] static_cast<float*>(p); });
        run_released(progress, [&](RunControl& control) {
            for_each_block(documents, n_threads, control, [&](int64_t begin, const MatrixView& block) {
                const Beams& beams = walk(block, beam_size);
                RankScratch& scratch = thread_scratch().rank;
                score_slots(*ranker_, block, beams, activation_, scratch);
                for (int64_t i = 0; i < block.n_rows; ++i) {
                    int32_t* const row_labels = labels + (begin + i) * k;
                    float* const row_scores = scores + (begin + i) * k;
                    const int32_t found = merge_top_k(*ranker_, *table_, beams, i, merge, k,
                                                      scratch, row_labels, row_scores);
                    std::fill(row_labels + found, row_labels + k, -1);
                    std::fill(row_scores + found, row_scores + k, 0.f);
                }
            });
            return 0;
        });
        const size_t shape[2] = {static_cast<size_t>(n), static_cast<size_t>(k)};
        return nb::make_tuple(
            nb::ndarray<nb::numpy, int32_t, nb::ndim<2>>(labels, 2, shape, own_labels),
            nb::ndarray<nb::numpy, float, nb::ndim<2>>(scores, 2, shape, own_scores));
    }

    nb::tuple all_scores(const In<int64_t>& starts, const In<int32_t>& columns,
                         const In<float>& values, int32_t beam_size, const std::string& merge_name,
                         int n_threads, const nb::object& progress) const {
        const MatrixView documents = matrix_view(starts, columns, values, n_features_, "X");
        require(beam_size > 0, "beam_size must be at least 1");
        require(ranker_ != nullptr, "this predictor has no ranker");
        const Merge merge = merge_of(merge_name);
        std::vector<std::vector<std::pair<int32_t, float>>> rows(documents.n_rows);
        run_released(progress, [&](RunControl& control) {
            for_each_block(documents, n_threads, control, [&](int64_t begin, const MatrixView& block) {
                const Beams& beams = walk(block, beam_size);
                RankScratch& scratch = thread_scratch().rank;
                score_slots(*ranker_, block, beams, activation_, scratch);
                for (int64_t i = 0; i < block.n_rows; ++i)
                    merge_all(*ranker_, *table_, beams, i, merge, scratch, rows[begin + i]);
            });
            return 0;
        });
        std::vector<int64_t> row_starts(1, 0);
        for (const auto& row : rows) row_starts.push_back(row_starts.back() + static_cast<int64_t>(row.size()));
        std::vector<int32_t> labels;
        std::vector<float> scores;
        labels.reserve(row_starts.back());
        scores.reserve(row_starts.back());
        for (auto& row : rows) {
            for (const auto& [label, score] : row) {
                labels.push_back(label);
                scores.push_back(score);
            }
            std::vector<std::pair<int32_t, float>>().swap(row);
        }
        return nb::make_tuple(to_numpy(std::move(row_starts)), to_numpy(std::move(labels)),
                              to_numpy(std::move(scores)));
    }

  private:
    // The beams of a block of documents at the leaves.
    const Beams& walk(const MatrixView& block, int32_t beam_size) const {
        Scratch& scratch = thread_scratch();
        scratch.beams = Beams::at_root(block.n_rows);
        for (const LinearLevel* level : levels_)
            advance_beams(*level, block, beam_size, activation_, scratch.beams, scratch.beam);
        return scratch.beams;
    }

    template <class F>
    static void for_each_block(const MatrixView& documents, int n_threads, RunControl& control, F&& visit) {
        const int64_t n = documents.n_rows;
        // So few documents are done before a thread has started.
        constexpr int64_t few = 16;
        if (n <= few) return visit(0, documents);
        const int64_t size = documents_per_block(n, n_threads);
        parallel_for((n + size - 1) / size, n_threads, control, [&](int64_t b, int) {
            const int64_t begin = b * size, end = std::min(n, begin + size);
            visit(begin, rows_of(documents, begin, end));
            control.advance(end - begin);
        });
    }

    std::vector<const LinearLevel*> levels_;
    const LinearLevel* ranker_ = nullptr;
    In<int32_t> slot_labels_;
    std::optional<SlotTable> table_;
    int64_t n_features_, n_labels_;
    Activation activation_;
};

// Scores of every slot of given clusters, for a ranker used on its own.
nb::tuple score_matched(const BoundLevel& bound, const In<int64_t>& starts,
                        const In<int32_t>& columns, const In<float>& values, int64_t n_features,
                        const In<int64_t>& matched_starts, const In<int32_t>& matched_clusters,
                        const In<float>& matched_scores, const std::string& activation_name,
                        int n_threads, const nb::object& progress) {
    const LinearLevel& level = *bound.level;
    const MatrixView documents = matrix_view(starts, columns, values, n_features, "X");
    const MatrixView matched = matrix_view(matched_starts, matched_clusters, matched_scores,
                                           level.n_clusters(), "matched");
    require(matched.n_rows == documents.n_rows, "matched and X differ in rows");
    const Activation activation = activation_of(activation_name);
    const int64_t n = documents.n_rows;
    std::vector<int64_t> row_starts(n + 1, 0);
    for (int64_t i = 0; i < n; ++i) {
        row_starts[i + 1] = row_starts[i];
        for (const int32_t cluster : matched.row(i)) row_starts[i + 1] += level.size(cluster);
    }
    std::vector<int32_t> slots(row_starts[n]);
    std::vector<float> scores(row_starts[n]);
    run_released(progress, [&](RunControl& control) {
        constexpr int64_t size = 256;
        parallel_for((n + size - 1) / size, n_threads, control, [&](int64_t b, int) {
            for (int64_t i = b * size; i < std::min(n, (b + 1) * size); ++i) {
                int64_t at = row_starts[i];
                for (size_t r = 0; r < matched.row(i).size(); ++r) {
                    const int32_t cluster = matched.row(i)[r];
                    const Visit visit{static_cast<int32_t>(i), matched.row_values(i)[r], scores.data() + at};
                    level.score(cluster, documents, std::span<const Visit>(&visit, 1), activation);
                    for (int64_t j = 0; j < level.size(cluster); ++j)
                        slots[at++] = static_cast<int32_t>(level.first_slot(cluster) + j);
                }
            }
        });
        return 0;
    });
    return nb::make_tuple(to_numpy(std::move(row_starts)), to_numpy(std::move(slots)),
                          to_numpy(std::move(scores)));
}

}  // namespace

void bind_prediction(nb::module_& m) {
    nb::class_<BoundLevel>(m, "LinearLevel")
        .def_prop_ro("n_clusters", [](const BoundLevel& b) { return b.level->n_clusters(); })
        .def_prop_ro("n_slots", [](const BoundLevel& b) { return b.level->n_slots(); })
        .def("slot_weights", &slot_weights, nb::arg("cluster"), nb::arg("slot"));
    bind_level<uint8_t, uint8_t, uint8_t>(m);
    bind_level<uint8_t, uint8_t, float>(m);
    bind_level<uint8_t, uint16_t, uint8_t>(m);
    bind_level<uint8_t, uint16_t, float>(m);
    bind_level<uint16_t, uint8_t, uint8_t>(m);
    bind_level<uint16_t, uint8_t, float>(m);
    bind_level<uint16_t, uint16_t, uint8_t>(m);
    bind_level<uint16_t, uint16_t, float>(m);
    nb::class_<Predictor>(m, "Predictor")
        .def(nb::init<const std::vector<BoundLevel*>&, BoundLevel*, const std::optional<In<int32_t>>&,
                      int64_t, int64_t, const std::string&>(),
             nb::arg("matcher"), nb::arg("ranker").none(), nb::arg("slot_labels").none(),
             nb::arg("n_labels"), nb::arg("n_features"), nb::arg("activation"),
             nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
        .def("match", &Predictor::match, nb::arg("starts").noconvert(),
             nb::arg("columns").noconvert(), nb::arg("values").noconvert(), nb::arg("beam_size"),
             nb::arg("n_threads"), nb::arg("progress").none())
        .def("top_k", &Predictor::top_k, nb::arg("starts").noconvert(),
             nb::arg("columns").noconvert(), nb::arg("values").noconvert(), nb::arg("beam_size"),
             nb::arg("k"), nb::arg("merge"), nb::arg("n_threads"), nb::arg("progress").none())
        .def("all_scores", &Predictor::all_scores, nb::arg("starts").noconvert(),
             nb::arg("columns").noconvert(), nb::arg("values").noconvert(), nb::arg("beam_size"),
             nb::arg("merge"), nb::arg("n_threads"), nb::arg("progress").none());
    m.def("score_matched", &score_matched, nb::arg("level"), nb::arg("starts").noconvert(),
          nb::arg("columns").noconvert(), nb::arg("values").noconvert(), nb::arg("n_features"),
          nb::arg("matched_starts").noconvert(), nb::arg("matched_clusters").noconvert(),
          nb::arg("matched_scores").noconvert(), nb::arg("activation"), nb::arg("n_threads"),
          nb::arg("progress").none());
}

}  // namespace polyseme::bindings
