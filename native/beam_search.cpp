#include "beam_search.hpp"

#include <algorithm>

#include "top_k.hpp"

namespace polyseme {

namespace {

// One level down.
void advance(const LinearLevel& level, const Document& document, int32_t beam_size, Activation activation,
             BeamScratch& scratch) {
    beam_size = static_cast<int32_t>(std::min<int64_t>(beam_size, level.n_slots()));
    Beam& next = scratch.next;
    next.nodes.resize(beam_size);
    next.scores.resize(beam_size);
    TopK best(next.nodes.data(), next.scores.data(), beam_size);
    for (int32_t r = 0; r < scratch.beam.size(); ++r) {
        const int32_t cluster = scratch.beam.nodes[r];
        const float score = scratch.beam.scores[r];
        if (never_rises(activation) && score < best.threshold()) break;
        if (r % clusters_at_once == 0) level.find(document, scratch.beam.some(r), scratch.found);
        const int64_t size = level.size(cluster);
        if (static_cast<int64_t>(scratch.scores.size()) < padded(size)) scratch.scores.resize(padded(size));
        level.score(cluster, scratch.found, r % clusters_at_once, score, activation, scratch.scores.data());
        const auto first = static_cast<int32_t>(level.first_slot(cluster));
        for (int32_t j = 0; j < size; ++j) best.offer(first + j, scratch.scores[j]);
    }
    next.nodes.resize(best.size());
    next.scores.resize(best.size());
    std::swap(scratch.beam, next);
}

}  // namespace

const Beam& walk(std::span<const LinearLevel* const> levels, const Document& document, int32_t beam_size,
                 Activation activation, BeamScratch& scratch) {
    scratch.beam.nodes.assign(1, 0);
    scratch.beam.scores.assign(1, 1.f);
    for (const LinearLevel* level : levels) advance(*level, document, beam_size, activation, scratch);
    return scratch.beam;
}

}  // namespace polyseme
