// Trained levels: made, joined, looked into, and asked for scores.
#include <algorithm>
#include <memory>

#include "beam_search.hpp"
#include "bound_level.hpp"

namespace polyseme::bindings {

namespace {

BoundLevel level_of(const In<int64_t>& slot_starts, const In<uint32_t>& record_sizes,
                    const In<uint8_t>& bytes, const In<float>& scales, const In<float>& bias,
                    int64_t n_features, bool is_trusted, const std::optional<In<uint8_t>>& dense,
                    int64_t n_dense) {
    const auto size = [](const auto& array) { return static_cast<int64_t>(array.size()); };
    require(n_features >= 1, "there must be at least one feature");
    require(n_dense >= 0 && n_dense <= n_features && size(record_sizes) == n_features - n_dense,
            "the records do not fit the number of features");
    require_starts(slot_starts, size(bias), "slot starts do not fit the bias");
    require(scales.size() == 0 || scales.size() == bias.size(), "scales and bias differ in length");

    LevelWeightsView view;
    view.n_clusters = size(slot_starts) - 1;
    view.n_sparse = size(record_sizes);
    view.slot_starts = slot_starts.data();
    view.record_sizes = record_sizes.data();
    view.bytes = {bytes.data(), bytes.size()};
    view.scales = scales.size() > 0 ? scales.data() : nullptr;
    view.bias = bias.data();
    view.n_dense = n_dense;
    if (dense) view.dense = {dense->data(), dense->size()};
    BoundLevel bound;
    bound.level = std::make_unique<LinearLevel>(view, is_trusted);
    bound.arrays = {nb::cast(slot_starts), nb::cast(record_sizes), nb::cast(bytes), nb::cast(scales),
                    nb::cast(bias)};
    return bound;
}

nb::tuple slot_weights(const BoundLevel& bound, int64_t cluster, int64_t slot,
                       const std::optional<In<int32_t>>& wanted) {
    const LinearLevel& level = *bound.level;
    require(cluster >= 0 && cluster < level.n_clusters(), "there is no such cluster");
    require(slot >= 0 && slot < level.size(cluster), "there is no such slot in the cluster");
    for (size_t i = 0; wanted && i < wanted->size(); ++i)
        require(wanted->data()[i] >= 0 && wanted->data()[i] < level.n_features(), "there is no such feature");
    // To look at all features takes long enough for others to wait for the GIL.
    const auto found =
        wanted ? level.slot_weights(cluster, slot, {wanted->data(), wanted->size()})
               : run_released(nb::none(), [&](RunControl&) { return level.slot_weights(cluster, slot); });
    std::vector<int32_t> features;
    std::vector<float> weights;
    for (const auto& [feature, weight] : found) {
        features.push_back(feature);
        weights.push_back(weight);
    }
    return nb::make_tuple(to_numpy(std::move(features)), to_numpy(std::move(weights)));
}

// All weights, features x slots.
nb::tuple all_weights(const BoundLevel& bound) {
    const LinearLevel& level = *bound.level;
    std::vector<int64_t> starts(1, 0);
    std::vector<int32_t> slots;
    std::vector<float> weights;
    run_released(nb::none(), [&](RunControl&) {
        const int64_t n_weights = level.n_weights();
        slots.reserve(n_weights);
        weights.reserve(n_weights);
        for (int64_t f = 0; f < level.n_features(); ++f) {
            level.for_each_weight(f, [&](int64_t slot, float weight) {
                slots.push_back(static_cast<int32_t>(slot));
                weights.push_back(weight);
            });
            starts.push_back(static_cast<int64_t>(slots.size()));
        }
        return 0;
    });
    return nb::make_tuple(to_numpy(std::move(starts)), to_numpy(std::move(slots)),
                          to_numpy(std::move(weights)));
}

// A level of given weights, features x slots, such as another program has trained.
nb::dict pack(const In<int64_t>& slot_starts, const Rows& given, const In<float>& bias, bool byte_weights) {
    const MatrixView weights = given.view("weights");
    require(static_cast<int64_t>(bias.size()) == weights.n_cols, "weights and bias differ in slots");
    require_starts(slot_starts, weights.n_cols, "slot starts do not fit the bias");
    const int64_t* const starts = slot_starts.data();
    const auto n_clusters = static_cast<int64_t>(slot_starts.size()) - 1;
    for (int64_t c = 0; c < n_clusters; ++c)
        require(starts[c + 1] - starts[c] <= UINT16_MAX + 1, "a cluster has more than 65536 slots");
    return to_python(run_released(nb::none(), [&](RunControl&) {
        std::vector<TrainedCluster> clusters(n_clusters);
        for (int64_t c = 0; c < n_clusters; ++c)
            clusters[c].bias.assign(bias.data() + starts[c], bias.data() + starts[c + 1]);
        for (int64_t f = 0; f < weights.n_rows; ++f) {
            const auto slots = weights.row(f);
            int64_t c = -1;
            for (size_t e = 0; e < slots.size(); ++e) {
                if (c < 0 || slots[e] >= starts[c + 1]) {
                    c = std::upper_bound(starts, starts + n_clusters, int64_t{slots[e]}) - starts - 1;
                    clusters[c].features.push_back(static_cast<int32_t>(f));
                    clusters[c].counts.push_back(0);
                }
                ++clusters[c].counts.back();
                clusters[c].columns.push_back(static_cast<uint16_t>(slots[e] - starts[c]));
                clusters[c].weights.push_back(weights.row_values(f)[e]);
            }
        }
        std::vector<PackedCluster> packed;
        for (TrainedCluster& cluster : clusters) {
            packed.push_back(pack_cluster(cluster, byte_weights));
            cluster = {};
        }
        return join_clusters(packed, weights.n_rows);
    }));
}

nb::dict join(const std::vector<BoundLevel*>& bound, const In<int32_t>& part_of_cluster) {
    require(!bound.empty(), "there must be at least one part");
    const auto n_clusters = static_cast<int64_t>(part_of_cluster.size());
    std::vector<int64_t> n_own(bound.size(), 0);
    for (size_t c = 0; c < part_of_cluster.size(); ++c) {
        const int32_t part = part_of_cluster.data()[c];
        require(part >= 0 && part < std::ssize(bound), "part_of_cluster names a part that is not there");
        ++n_own[part];
    }
    std::vector<const LinearLevel*> parts;
    const LinearLevel* any_with_slots = nullptr;
    for (size_t p = 0; p < bound.size(); ++p) {
        const LinearLevel& level = *bound[p]->level;
        require(level.n_clusters() == n_clusters || level.n_clusters() == n_own[p],
                "a part must have either all clusters or those that come from it");
        require(
            level.n_sparse() == bound[0]->level->n_sparse() && level.n_dense() == bound[0]->level->n_dense(),
            "the parts differ in features");
        if (level.n_slots() > 0) {
            if (any_with_slots == nullptr) any_with_slots = &level;
            require(level.has_byte_weights() == any_with_slots->has_byte_weights(),
                    "the parts differ in the kind of their weights");
        }
        parts.push_back(&level);
    }
    return to_python(run_released(nb::none(), [&](RunControl&) {
        return join_parts(parts, {part_of_cluster.data(), part_of_cluster.size()});
    }));
}

// Scores of every slot of given clusters, for a ranker used on its own.
nb::tuple score_matched(const BoundLevel& bound, const Documents& X, const Rows& matched_clusters,
                        const std::string& activation_name, int n_threads, const nb::object& progress) {
    const LinearLevel& level = *bound.level;
    const DocumentsView documents = X.view("X");
    const MatrixView matched = matched_clusters.view("matched");
    require(matched.n_cols == level.n_clusters(), "matched and the level differ in clusters");
    require(documents.sparse.n_cols == level.n_sparse() && documents.n_dense == level.n_dense(),
            "X and the level differ in features");
    require(matched.n_rows == documents.n_rows(), "matched and X differ in rows");
    const Activation activation = activation_of(activation_name);
    const int64_t n = documents.n_rows();
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
            std::vector<float> some;
            FoundRows found;
            DenseValues dense;
            const int64_t first = b * size, last = std::min(n, first + size);
            for (int64_t i = first; i < last; ++i) {
                int64_t at = row_starts[i];
                level.find(document_of(documents, i, dense), matched.row(i), found);
                for (size_t r = 0; r < matched.row(i).size(); ++r) {
                    const int32_t cluster = matched.row(i)[r];
                    some.resize(padded(level.size(cluster)));
                    level.score(cluster, found, r, matched.row_values(i)[r], activation, some.data());
                    std::copy_n(some.begin(), level.size(cluster), scores.begin() + at);
                    for (int64_t j = 0; j < level.size(cluster); ++j)
                        slots[at++] = static_cast<int32_t>(level.first_slot(cluster) + j);
                }
            }
            control.advance(last - first);
        });
        return 0;
    });
    return nb::make_tuple(to_numpy(std::move(row_starts)), to_numpy(std::move(slots)),
                          to_numpy(std::move(scores)));
}

}  // namespace

void bind_levels(nb::module_& m) {
    nb::class_<BoundLevel>(m, "LinearLevel")
        .def_prop_ro("n_clusters", [](const BoundLevel& b) { return b.level->n_clusters(); })
        .def_prop_ro("n_slots", [](const BoundLevel& b) { return b.level->n_slots(); })
        .def_prop_ro("n_weights",
                     [](const BoundLevel& b) {
                         return run_released(nb::none(), [&](RunControl&) { return b.level->n_weights(); });
                     })
        .def("slot_weights", &slot_weights, nb::arg("cluster"), nb::arg("slot"),
             nb::arg("features").noconvert().none() = nb::none())
        .def("all_weights", &all_weights);
    m.def("pack_level", &pack, nb::arg("slot_starts").noconvert(), nb::arg("weights"),
          nb::arg("bias").noconvert(), nb::arg("byte_weights"));
    m.def("join_levels", &join, nb::arg("parts"), nb::arg("part_of_cluster").noconvert());
    m.def("linear_level", &level_of, nb::arg("slot_starts").noconvert(), nb::arg("record_sizes").noconvert(),
          nb::arg("bytes").noconvert(), nb::arg("scales").noconvert(), nb::arg("bias").noconvert(),
          nb::arg("n_features"), nb::arg("is_trusted"), nb::arg("dense").noconvert().none() = nb::none(),
          nb::arg("n_dense") = 0);
    m.def("score_matched", &score_matched, nb::arg("level"), nb::arg("X"), nb::arg("matched"),
          nb::arg("activation"), nb::arg("n_threads"), nb::arg("progress").none());
}

}  // namespace polyseme::bindings
