#include "co_occurrence.hpp"

#include <algorithm>
#include <numeric>

namespace polyseme {
namespace {

constexpr int64_t kLabelsPerChunk = 256;
// Where a label meets more than this share of all clusters, a scan is faster than a sort.
constexpr int64_t kScanShare = 16;

int64_t n_chunks_of(int64_t n_labels) { return (n_labels + kLabelsPerChunk - 1) / kLabelsPerChunk; }

struct Total {
    double score = 0;
    int32_t count = 0;
};

}  // namespace

CoOccurrence count_co_occurrence(const PatternView& label_rows, const MatrixView& matched, int n_threads,
                                 RunControl& control) {
    const int64_t n_labels = label_rows.n_rows;
    const int64_t n_chunks = n_chunks_of(n_labels);
    std::vector<CoOccurrence> parts(n_chunks);
    std::vector<std::vector<Total>> totals_of_worker(std::max(1, n_threads));
    CoOccurrence all;
    all.starts.assign(n_labels + 1, 0);

    parallel_for(n_chunks, n_threads, control, [&](int64_t chunk, int worker) {
        auto& totals = totals_of_worker[worker];
        totals.resize(matched.n_cols);
        auto& part = parts[chunk];
        const int64_t end = std::min(n_labels, (chunk + 1) * kLabelsPerChunk);
        for (int64_t label = chunk * kLabelsPerChunk; label < end; ++label) {
            control.throw_if_stopped();
            const auto first = static_cast<int64_t>(part.clusters.size());
            for (const int32_t document : label_rows.row(label)) {
                for (int64_t e = matched.starts[document]; e < matched.starts[document + 1]; ++e) {
                    Total& total = totals[matched.columns[e]];
                    if (total.count++ == 0) part.clusters.push_back(matched.columns[e]);
                    total.score += matched.values[e];
                }
            }
            const auto n_found = static_cast<int64_t>(part.clusters.size()) - first;
            if (n_found < matched.n_cols / kScanShare) {
                std::sort(part.clusters.begin() + first, part.clusters.end());
            } else {
                auto next = part.clusters.begin() + first;
                for (int32_t cluster = 0; cluster < matched.n_cols; ++cluster)
                    if (totals[cluster].count > 0) *next++ = cluster;
            }
            for (auto e = first; e < static_cast<int64_t>(part.clusters.size()); ++e) {
                Total& total = totals[part.clusters[e]];
                part.counts.push_back(total.count);
                part.scores.push_back(static_cast<float>(total.score));
                total = {};
            }
            all.starts[label + 1] = n_found;
        }
        control.advance(end - chunk * kLabelsPerChunk);
    });

    std::partial_sum(all.starts.begin(), all.starts.end(), all.starts.begin());
    all.clusters.resize(all.starts.back());
    all.counts.resize(all.starts.back());
    all.scores.resize(all.starts.back());
    parallel_for(n_chunks, n_threads, control, [&](int64_t chunk, int) {
        const CoOccurrence part = std::move(parts[chunk]);
        const int64_t first = all.starts[chunk * kLabelsPerChunk];
        std::copy(part.clusters.begin(), part.clusters.end(), all.clusters.begin() + first);
        std::copy(part.counts.begin(), part.counts.end(), all.counts.begin() + first);
        std::copy(part.scores.begin(), part.scores.end(), all.scores.begin() + first);
    });
    return all;
}

int64_t count_reached(const PatternView& label_rows, const PatternView& matched,
                      const PatternView& label_clusters, int n_threads, RunControl& control) {
    const int64_t n_labels = label_rows.n_rows;
    std::vector<std::vector<char>> marks_of_worker(std::max(1, n_threads));
    std::atomic<int64_t> n_reached{0};
    parallel_for(n_chunks_of(n_labels), n_threads, control, [&](int64_t chunk, int worker) {
        auto& is_own = marks_of_worker[worker];
        is_own.resize(matched.n_cols);
        int64_t n_here = 0;
        const int64_t end = std::min(n_labels, (chunk + 1) * kLabelsPerChunk);
        for (int64_t label = chunk * kLabelsPerChunk; label < end; ++label) {
            control.throw_if_stopped();
            for (const int32_t cluster : label_clusters.row(label)) is_own[cluster] = 1;
            for (const int32_t document : label_rows.row(label)) {
                const auto clusters = matched.row(document);
                n_here += std::any_of(clusters.begin(), clusters.end(),
                                      [&](int32_t cluster) { return is_own[cluster] != 0; });
            }
            for (const int32_t cluster : label_clusters.row(label)) is_own[cluster] = 0;
        }
        n_reached += n_here;
    });
    return n_reached;
}

}  // namespace polyseme
