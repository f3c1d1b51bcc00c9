#include "beam_search.hpp"

#include <algorithm>

#include "top_k.hpp"

namespace polyseme {

void Beams::reset(int64_t n_documents, int32_t size) {
    beam_size = size;
    sizes.assign(n_documents, 0);
    nodes.resize(n_documents * size);
    scores.resize(n_documents * size);
}

Beams Beams::at_root(int64_t n_documents) {
    Beams beams;
    beams.reset(n_documents, 1);
    std::fill(beams.sizes.begin(), beams.sizes.end(), 1);
    std::fill(beams.nodes.begin(), beams.nodes.end(), 0);
    std::fill(beams.scores.begin(), beams.scores.end(), 1.f);
    return beams;
}

void VisitPlan::build(const Beams& beams, int64_t n_clusters) {
    if (static_cast<int64_t>(counts_.size()) < n_clusters) counts_.resize(n_clusters, 0);
    clusters_.clear();
    const auto n_documents = static_cast<int64_t>(beams.sizes.size());
    int32_t n_visits = 0;
    for (int64_t i = 0; i < n_documents; ++i) {
        for (int32_t r = 0; r < beams.sizes[i]; ++r) {
            const int32_t cluster = beams.nodes[i * beams.beam_size + r];
            if (counts_[cluster]++ == 0) clusters_.push_back(cluster);
        }
        n_visits += beams.sizes[i];
    }
    std::sort(clusters_.begin(), clusters_.end());
    starts_.assign(1, 0);
    for (const int32_t cluster : clusters_) {
        starts_.push_back(starts_.back() + counts_[cluster]);
        counts_[cluster] = starts_[starts_.size() - 2];  // from now on: where to write next
    }
    places_.resize(n_visits);
    for (int64_t i = 0; i < n_documents; ++i) {
        for (int32_t r = 0; r < beams.sizes[i]; ++r) {
            const auto place = static_cast<int32_t>(i * beams.beam_size + r);
            places_[counts_[beams.nodes[place]]++] = place;
        }
    }
    for (const int32_t cluster : clusters_) counts_[cluster] = 0;
}

void advance_beams(const LinearLevel& level, const MatrixView& documents, int32_t beam_size,
                   Activation activation, Beams& beams, BeamScratch& scratch) {
    scratch.plan.build(beams, level.n_clusters());
    beam_size = static_cast<int32_t>(std::min<int64_t>(beam_size, level.n_slots()));
    Beams& next = scratch.next;
    next.reset(documents.n_rows, beam_size);
    scratch.plan.for_each_cluster([&](int32_t cluster, std::span<const int32_t> places) {
        const int64_t size = level.size(cluster);
        scratch.scores.resize(places.size() * size);
        scratch.visits.clear();
        for (size_t v = 0; v < places.size(); ++v)
            scratch.visits.push_back({places[v] / beams.beam_size, beams.scores[places[v]],
                                      scratch.scores.data() + v * size});
        level.score(cluster, documents, scratch.visits, activation);
        const auto first = static_cast<int32_t>(level.first_slot(cluster));
        for (const Visit& visit : scratch.visits) {
            const int64_t at = int64_t{visit.document} * beam_size;
            TopK best(next.nodes.data() + at, next.scores.data() + at, beam_size,
                      next.sizes[visit.document]);
            for (int64_t j = 0; j < size; ++j)
                best.offer(first + static_cast<int32_t>(j), visit.scores[j]);
            next.sizes[visit.document] = best.size();
        }
    });
    std::swap(beams, next);
}

int64_t documents_per_block(int64_t n_documents, int n_threads) {
    const int64_t share = n_documents / (std::max(1, n_threads) * 2) + 1;
    return std::clamp<int64_t>(share, 1, 2048);
}

MatrixView rows_of(const MatrixView& matrix, int64_t begin, int64_t end) {
    MatrixView part = matrix;  // starts keep pointing into the whole arrays
    part.n_rows = end - begin;
    part.starts = matrix.starts + begin;
    return part;
}

}  // namespace polyseme
