// Levels for tests, made from tables of weights.
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "linear_level.hpp"

namespace polyseme::tests {

// A level that owns its arrays. table[feature][slot]; a zero is not stored.
struct TableLevel {
    std::vector<int64_t> slot_starts;
    LevelWeights weights;
    std::unique_ptr<LinearLevel> level;

    TableLevel(std::vector<int64_t> starts, const std::vector<std::vector<float>>& table,
               bool byte_weights = false)
        : slot_starts(std::move(starts)) {
        std::vector<PackedCluster> clusters;
        for (size_t c = 0; c + 1 < slot_starts.size(); ++c) {
            TrainedCluster cluster;
            cluster.bias.assign(slot_starts[c + 1] - slot_starts[c], 0.f);
            for (size_t f = 0; f < table.size(); ++f) {
                uint32_t count = 0;
                for (int64_t slot = slot_starts[c]; slot < slot_starts[c + 1]; ++slot) {
                    if (table[f][slot] == 0) continue;
                    cluster.columns.push_back(static_cast<uint16_t>(slot - slot_starts[c]));
                    cluster.weights.push_back(table[f][slot]);
                    ++count;
                }
                if (count == 0) continue;
                cluster.features.push_back(static_cast<int32_t>(f));
                cluster.counts.push_back(count);
            }
            clusters.push_back(pack_cluster(cluster, byte_weights));
        }
        weights = join_clusters(clusters, static_cast<int64_t>(table.size()));
        level = std::make_unique<LinearLevel>(view());
    }
    LevelWeightsView view() const {
        LevelWeightsView view;
        view.n_clusters = static_cast<int64_t>(slot_starts.size()) - 1;
        view.n_sparse = static_cast<int64_t>(weights.record_sizes.size());
        view.slot_starts = slot_starts.data();
        view.record_sizes = weights.record_sizes.data();
        view.bytes = weights.bytes;
        view.scales = weights.scales.empty() ? nullptr : weights.scales.data();
        view.bias = weights.bias.data();
        return view;
    }
};

}  // namespace polyseme::tests
