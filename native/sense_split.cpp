#include "sense_split.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "simd.hpp"

namespace polyseme {

namespace {

constexpr std::array cluster_counts = {2, 3, 4, 6, 8};
constexpr int documents_per_cluster = 4;  // on average, at least
constexpr int n_starts = 4;
constexpr int max_iter = 20;
constexpr int max_refinements = 10;
constexpr float concentration = 40;        // of documents around the middle of their part
constexpr float worth_of_evenness = 0.2f;  // against alikeness
constexpr double by_chance = 0.01;         // similarity that parts may have, or lack, for no reason
constexpr int64_t fewest_documents = 3;    // of a part

}  // namespace

namespace clones {

POLYSEME_CLONES(void, add_row, (float* sums, const float* row, float factor, int64_t n),
                (sums, row, factor, n)) {
    for (int64_t i = 0; i < n; ++i) sums[i] += factor * row[i];
}

}  // namespace clones

const SensePartitions& SenseSplitter::split(const float* similarities, int64_t n, double least_within,
                                            Random random) {
    similarities_ = similarities;
    n_ = n;
    least_within_ = least_within;
    least_size_ = std::clamp<int64_t>(n / 5, fewest_documents, 8);
    for (auto& found : best_) {
        found.part_of.clear();
        found.cost = std::numeric_limits<float>::infinity();
    }
    for (const int m : cluster_counts) {
        if (m > std::max<int64_t>(least_parts, n / documents_per_cluster) || m > n) break;
        k_means(m, random);
        if (n_parts() >= least_parts) merge_down();
    }
    return best_;
}

// The best of several starts is left as the partition at hand, without empty parts.
void SenseSplitter::k_means(int m, Random& random) {
    double best = -1;
    for (int start = 0; start < n_starts; ++start) {
        k_means_once(m, random);
        double total = 0;
        for (const double length : lengths_) total += length;
        if (total > best) {
            best = total;
            chosen_ = part_of_;
        }
    }
    std::vector<int8_t> number(m, -1);
    int8_t n_used = 0;
    std::vector<char> is_used(m, 0);
    for (const int8_t part : chosen_) is_used[part] = 1;
    for (int part = 0; part < m; ++part)
        if (is_used[part]) number[part] = n_used++;
    for (int64_t i = 0; i < n_; ++i) part_of_[i] = number[chosen_[i]];
    scatter(n_used);
}

// Spherical k-means++: parts begin with documents that are unlike each other.
void SenseSplitter::k_means_once(int m, Random& random) {
    part_of_.assign(n_, 0);
    nearest_.assign(n_, -1);
    std::vector<int64_t> centres;
    int64_t centre = random.below(static_cast<uint32_t>(n_));
    for (int part = 0; part < m; ++part) {
        if (part > 0) {
            double total = 0;
            for (int64_t i = 0; i < n_; ++i) total += std::max(0.f, 1 - nearest_[i]);
            const double drawn = total * (random.below(1u << 24) / static_cast<double>(1u << 24));
            double sum = 0;
            centre = n_ - 1;
            for (int64_t i = 0; i < n_; ++i) {
                sum += std::max(0.f, 1 - nearest_[i]);
                if (sum > drawn) {
                    centre = i;
                    break;
                }
            }
        }
        centres.push_back(centre);
        const float* row = similarities_ + centre * n_;
        for (int64_t i = 0; i < n_; ++i) {
            if (row[i] > nearest_[i]) {
                nearest_[i] = row[i];
                part_of_[i] = static_cast<int8_t>(part);
            }
        }
    }
    scatter(m);
    for (int iteration = 0;; ++iteration) {
        lengths_.assign(m, 0);
        for (int64_t i = 0; i < n_; ++i) lengths_[part_of_[i]] += to_part_[part_of_[i]][i];
        for (double& length : lengths_) length = std::sqrt(std::max(length, 1e-12));
        if (iteration == max_iter) break;
        next_ = part_of_;
        for (int64_t i = 0; i < n_; ++i) {
            double best = -std::numeric_limits<double>::infinity();
            for (int part = 0; part < m; ++part) {
                if (sizes_[part] == 0) continue;
                const double cosine = to_part_[part][i] / lengths_[part];
                if (cosine > best) {
                    best = cosine;
                    next_[i] = static_cast<int8_t>(part);
                }
            }
        }
        if (next_ == part_of_) break;
        for (int64_t i = 0; i < n_; ++i)
            if (next_[i] != part_of_[i]) move(i, next_[i]);
    }
}

// Sums for the partition at hand, which has m parts.
void SenseSplitter::scatter(int m) {
    sizes_.assign(m, 0);
    to_part_.resize(m);
    for (auto& sums : to_part_) sums.assign(n_, 0);
    for (int64_t i = 0; i < n_; ++i) {
        ++sizes_[part_of_[i]];
        clones::add_row(to_part_[part_of_[i]].data(), similarities_ + i * n_, 1, n_);
    }
}

void SenseSplitter::move(int64_t document, int to) {
    const int from = part_of_[document];
    const float* row = similarities_ + document * n_;
    clones::add_row(to_part_[from].data(), row, -1, n_);
    clones::add_row(to_part_[to].data(), row, 1, n_);
    --sizes_[from];
    ++sizes_[to];
    part_of_[document] = static_cast<int8_t>(to);
}

// Mean similarity of different documents of a part.
double SenseSplitter::within(int part) const {
    const auto n = static_cast<double>(sizes_[part]);
    return (between_[part][part] - n) / std::max(1.0, n * (n - 1));
}

// Mean similarity across two parts, as a share of that within them.
float SenseSplitter::alike(int a, int b) const {
    const double across = between_[a][b] / (static_cast<double>(sizes_[a]) * sizes_[b]);
    const double own = (std::max(0.0, within(a)) + by_chance) * (std::max(0.0, within(b)) + by_chance);
    return static_cast<float>((across + by_chance) / std::sqrt(own));
}

// From clusters to two parts: small ones join what they are most similar to, then whichever two are most
// similar. Every partition on the way is a candidate, and so is what it is refined to.
void SenseSplitter::merge_down() {
    while (true) {
        const int m = n_parts();
        sum_between();
        const auto smallest = std::min_element(sizes_.begin(), sizes_.end()) - sizes_.begin();
        const bool is_too_small = sizes_[smallest] < least_size_;
        if (m <= most_parts && (!is_too_small || m == least_parts)) {
            offer();
            const auto part_of = part_of_;
            const auto sizes = sizes_;
            const auto to_part = to_part_;
            const auto between = between_;
            refine();
            part_of_ = part_of;
            sizes_ = sizes;
            to_part_ = to_part;
            between_ = between;
        }
        if (m == least_parts) return;
        double most = -std::numeric_limits<double>::infinity();
        int first = 0, second = 1;
        for (int a = 0; a < m; ++a) {
            for (int b = a + 1; b < m; ++b) {
                if (is_too_small && a != smallest && b != smallest) continue;
                const double across = between_[a][b] / (static_cast<double>(sizes_[a]) * sizes_[b]);
                if (across > most) {
                    most = across;
                    first = a;
                    second = b;
                }
            }
        }
        merge(first, second);
    }
}

// Part b joins part a; the last part takes its number.
void SenseSplitter::merge(int a, int b) {
    const int last = n_parts() - 1;
    clones::add_row(to_part_[a].data(), to_part_[b].data(), 1, n_);
    sizes_[a] += sizes_[b];
    std::swap(to_part_[b], to_part_[last]);
    std::swap(sizes_[b], sizes_[last]);
    to_part_.pop_back();
    sizes_.pop_back();
    for (auto& part : part_of_) {
        if (part == b) part = static_cast<int8_t>(a);
        else if (part == last) part = static_cast<int8_t>(b);
    }
}

// Documents go to the part that is likeliest by similarity and size, until none changes.
void SenseSplitter::refine() {
    const int m = n_parts();
    for (int iteration = 0; iteration < max_refinements; ++iteration) {
        lengths_.assign(m, 0);
        for (int64_t i = 0; i < n_; ++i) lengths_[part_of_[i]] += to_part_[part_of_[i]][i];
        std::vector<int64_t> counts(m, 0);
        next_ = part_of_;
        for (int64_t i = 0; i < n_; ++i) {
            double best = -std::numeric_limits<double>::infinity();
            for (int part = 0; part < m; ++part) {
                const double score =
                    concentration * to_part_[part][i] / std::sqrt(std::max(lengths_[part], 1e-12)) +
                    std::log(static_cast<double>(sizes_[part]) / static_cast<double>(n_));
                if (score > best) {
                    best = score;
                    next_[i] = static_cast<int8_t>(part);
                }
            }
            ++counts[next_[i]];
        }
        if (next_ == part_of_ || *std::min_element(counts.begin(), counts.end()) == 0) break;
        for (int64_t i = 0; i < n_; ++i)
            if (next_[i] != part_of_[i]) move(i, next_[i]);
    }
    sum_between();
    offer();
}

void SenseSplitter::sum_between() {
    const int m = n_parts();
    between_.assign(m, std::vector<double>(m, 0));
    for (int64_t i = 0; i < n_; ++i)
        for (int part = 0; part < m; ++part) between_[part_of_[i]][part] += to_part_[part][i];
}

// Keeps the partition at hand if it is the best with so many parts.
void SenseSplitter::offer() {
    const int m = n_parts();
    if (*std::min_element(sizes_.begin(), sizes_.end()) < std::min(fewest_documents, least_size_)) return;
    float alikeness = -std::numeric_limits<float>::infinity();
    double squares = 0;
    for (int a = 0; a < m; ++a) {
        if (within(a) < least_within_) return;
        const double share = static_cast<double>(sizes_[a]) / static_cast<double>(n_);
        squares += share * share;
        for (int b = 0; b < a; ++b) alikeness = std::max(alikeness, alike(a, b));
    }
    const auto evenness = static_cast<float>((1 - squares) * m / (m - 1));
    const float cost = alikeness - worth_of_evenness * evenness;
    auto& best = best_[m - least_parts];
    if (cost < best.cost) {
        best.cost = cost;
        best.alikeness = alikeness;
        best.part_of = part_of_;
    }
}

}  // namespace polyseme
