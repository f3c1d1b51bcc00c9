#include "k_means.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "simd.hpp"

namespace polyseme {

namespace {

typedef float Lanes __attribute__((vector_size(64)));
constexpr int64_t n_lanes = 16;
constexpr int64_t rows_per_look = 4096;  // between two looks whether to stop

POLYSEME_INLINE Lanes load(const float* values) {
    Lanes lanes;
    std::memcpy(&lanes, values, sizeof lanes);
    return lanes;
}

POLYSEME_INLINE void store(const Lanes& lanes, float* values) { std::memcpy(values, &lanes, sizeof lanes); }

}  // namespace

namespace clones {

// Brings the centroid in each lane to unit length, unless it is zero.
POLYSEME_CLONES(void, to_unit_length, (float* centroids, int64_t n_features), (centroids, n_features)) {
    Lanes squares{};
    for (int64_t f = 0; f < n_features; ++f) {
        const Lanes centroid = load(centroids + f * n_lanes);
        squares += centroid * centroid;
    }
    float factors[n_lanes];
    store(squares, factors);
    for (float& factor : factors) factor = factor > 0 ? 1 / std::sqrt(factor) : 0;
    const Lanes to_unit = load(factors);
    for (int64_t f = 0; f < n_features; ++f)
        store(load(centroids + f * n_lanes) * to_unit, centroids + f * n_lanes);
}

// The product of a row with the centroid in each lane.
POLYSEME_CLONES(void, products, (const LabelRow* rows, int64_t n_rows, const float* centroids, float* result),
                (rows, n_rows, centroids, result)) {
    for (int64_t i = 0; i < n_rows; ++i) {
        const LabelRow& row = rows[i];
        Lanes even{}, odd{};
        int64_t e = 0;
        for (; e + 2 <= row.size; e += 2) {
            even += (row.factor * row.values[e]) * load(centroids + row.columns[e] * n_lanes);
            odd += (row.factor * row.values[e + 1]) * load(centroids + row.columns[e + 1] * n_lanes);
        }
        if (e < row.size) even += (row.factor * row.values[e]) * load(centroids + row.columns[e] * n_lanes);
        store(even + odd, result + i * n_lanes);
    }
}

}  // namespace clones

void KMeans::run(std::span<const LabelRow> rows, int64_t n_features, int64_t n_centroids, int max_iter,
                 Random random, int n_threads, RunControl& control) {
    const auto n_rows = std::ssize(rows);
    n_centroids_ = n_centroids;
    // The first centroids are rows themselves.
    members_.resize(n_rows);
    std::iota(members_.begin(), members_.end(), 0);
    for (int64_t c = 0; c < n_centroids; ++c)
        std::swap(members_[c], members_[c + random.below(static_cast<uint32_t>(n_rows - c))]);
    members_.resize(n_centroids);
    starts_.resize(n_centroids + 1);
    std::iota(starts_.begin(), starts_.end(), 0);

    nearest.assign(n_rows, -1);
    for (int iteration = 0; iteration < max_iter; ++iteration) {
        if (!find_nearest(rows, rows, n_features, n_threads, control)) break;
        sort_members();
    }
}

void KMeans::spread(std::span<const LabelRow> sample, std::span<const LabelRow> rows, int64_t n_features,
                    int n_refinements, int n_threads, RunControl& control) {
    nearest.assign(rows.size(), -1);
    find_nearest(sample, rows, n_features, n_threads, control);
    for (int round = 0; round < n_refinements; ++round) {
        sort_members();
        if (!find_nearest(rows, rows, n_features, n_threads, control)) break;
    }
}

void KMeans::sort_members() {
    starts_.assign(n_centroids_ + 1, 0);
    for (const int32_t c : nearest) ++starts_[c + 1];
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    members_.resize(nearest.size());
    std::vector<int64_t> next(starts_.begin(), starts_.end() - 1);
    for (size_t i = 0; i < nearest.size(); ++i) members_[next[nearest[i]]++] = static_cast<int32_t>(i);
}

// Some centroids at a time, so that a row's entries are read once for all of them. Who is nearest does
// not depend on the order in which threads look: the higher product, then the lower number.
bool KMeans::find_nearest(std::span<const LabelRow> members, std::span<const LabelRow> rows,
                          int64_t n_features, int n_threads, RunControl& control) {
    const auto n_rows = std::ssize(rows);
    const int64_t n_blocks = (n_centroids_ + n_lanes - 1) / n_lanes;
    scratch_.resize(std::min<int64_t>(std::max(1, n_threads), n_blocks));
    for (Scratch& own : scratch_) own.nearest.clear();

    const auto look = [&](int64_t block, int worker) {
        Scratch& own = scratch_[worker];
        if (own.nearest.empty()) {
            own.scores.assign(n_rows, 0);
            own.nearest.assign(n_rows, -1);
        }
        own.centroids.assign(n_features * n_lanes, 0);
        const int64_t first = block * n_lanes;
        const int64_t n_here = std::min(n_lanes, n_centroids_ - first);
        for (int64_t lane = 0; lane < n_here; ++lane) {
            for (int64_t m = starts_[first + lane]; m < starts_[first + lane + 1]; ++m) {
                const LabelRow& row = members[members_[m]];
                for (int64_t e = 0; e < row.size; ++e)
                    own.centroids[row.columns[e] * n_lanes + lane] += row.factor * row.values[e];
            }
        }
        clones::to_unit_length(own.centroids.data(), n_features);
        constexpr int64_t at_once = 16;
        float found[at_once * n_lanes];
        for (int64_t begin = 0; begin < n_rows; begin += at_once) {
            if (begin % rows_per_look == 0) control.throw_if_stopped();
            const int64_t n = std::min(at_once, n_rows - begin);
            clones::products(rows.data() + begin, n, own.centroids.data(), found);
            for (int64_t i = 0; i < n; ++i) {
                float& best = own.scores[begin + i];
                int32_t& nearest_yet = own.nearest[begin + i];
                for (int64_t lane = 0; lane < n_here; ++lane) {
                    const auto c = static_cast<int32_t>(first + lane);
                    if (starts_[c] == starts_[c + 1]) continue;  // nobody is left there
                    const float score = found[i * n_lanes + lane];
                    if (nearest_yet < 0 || score > best || (score == best && c < nearest_yet)) {
                        best = score;
                        nearest_yet = c;
                    }
                }
            }
        }
    };
    if (n_threads > 0) {
        parallel_for(n_blocks, n_threads, control, look);
    } else {
        for (int64_t block = 0; block < n_blocks; ++block) look(block, 0);
    }

    bool has_changed = false;
    for (int64_t i = 0; i < n_rows; ++i) {
        float best = 0;
        int32_t found = -1;
        for (const Scratch& own : scratch_) {
            if (own.nearest.empty() || own.nearest[i] < 0) continue;
            if (found < 0 || own.scores[i] > best || (own.scores[i] == best && own.nearest[i] < found)) {
                best = own.scores[i];
                found = own.nearest[i];
            }
        }
        has_changed |= std::exchange(nearest[i], found) != found;
    }
    return has_changed;
}

}  // namespace polyseme
