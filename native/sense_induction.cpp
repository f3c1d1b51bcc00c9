#include "sense_induction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "random.hpp"
#include "simd.hpp"

namespace polyseme {

namespace clones {

typedef float Eight __attribute__((vector_size(32)));

// Products of one row with four others; widths are multiples of eight.
POLYSEME_INLINE void four_products(const float* row, const float* const* others, int64_t width,
                                   float* found) {
    Eight sums[4] = {};
    for (int64_t f = 0; f < width; f += 8) {
        Eight own, other;
        std::memcpy(&own, row + f, sizeof(own));
        for (int i = 0; i < 4; ++i) {
            std::memcpy(&other, others[i] + f, sizeof(other));
            sums[i] += own * other;
        }
    }
    for (int i = 0; i < 4; ++i) {
        const Eight& s = sums[i];
        found[i] = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
    }
}

// All products of n rows with each other, [n][n].
POLYSEME_CLONES(void, products_of_rows, (const float* rows, int64_t n, int64_t width, float* products),
                (rows, n, width, products)) {
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j <= i; j += 4) {
            const float* others[4];
            for (int k = 0; k < 4; ++k) others[k] = rows + std::min(j + k, i) * width;
            float found[4];
            four_products(rows + i * width, others, width, found);
            for (int64_t k = 0; k < 4 && j + k <= i; ++k) {
                products[i * n + j + k] = found[k];
                products[(j + k) * n + i] = found[k];
            }
        }
    }
}

POLYSEME_CLONES(void, add_to, (float* sum, const float* row, float factor, int64_t width),
                (sum, row, factor, width)) {
    for (int64_t f = 0; f < width; ++f) sum[f] += factor * row[f];
}

}  // namespace clones

namespace {

double product(const float* a, const float* b, int64_t width) {
    double sum = 0;
    for (int64_t f = 0; f < width; ++f) sum += static_cast<double>(a[f]) * b[f];
    return sum;
}

// To unit length, times a factor; false for nothing but zeros.
bool scale(float* row, int64_t width, float factor) {
    const double length = std::sqrt(product(row, row, width));
    if (length < 1e-6) {
        std::fill(row, row + width, 0.f);
        return false;
    }
    for (int64_t f = 0; f < width; ++f) row[f] = static_cast<float>(row[f] / length) * factor;
    return true;
}

// The two halves of a document's row: its text, and the labels that it has besides those of the group.
class RowMaker {
  public:
    RowMaker(const SenseProblem& problem) : problem_(problem), padded_((problem.width + 7) / 8 * 8) {}

    int64_t half() const { return padded_; }
    int64_t width() const { return 2 * padded_; }

    // Returns whether there are other labels; if not, that half is zero.
    bool make(int32_t document, std::span<const int32_t> group, float* row) const {
        std::fill(row, row + width(), 0.f);
        const float* text = problem_.documents + document * problem_.width;
        std::copy(text, text + problem_.width, row);
        for (const int32_t label : problem_.labels_of.row(document)) {
            if (std::find(group.begin(), group.end(), label) != group.end()) continue;
            clones::add_to(row + padded_, problem_.labels + label * problem_.width, 1, problem_.width);
        }
        return scale(row + padded_, padded_, 1);
    }

  private:
    const SenseProblem& problem_;
    int64_t padded_;
};

std::vector<int32_t> documents_of(const SenseProblem& problem, std::span<const int32_t> group) {
    std::vector<int32_t> found;
    for (const int32_t label : group) {
        const auto own = problem.documents_of.row(label);
        found.insert(found.end(), own.begin(), own.end());
    }
    if (group.size() > 1) {
        std::sort(found.begin(), found.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
    }
    return found;
}

// Some of them, in order.
void sample(std::vector<int32_t>& documents, int64_t most, Random& random) {
    const int64_t n = std::ssize(documents);
    if (n <= most) return;
    for (int64_t i = 0; i < most; ++i)
        std::swap(documents[i], documents[i + random.below(static_cast<uint32_t>(n - i))]);
    documents.resize(most);
    std::sort(documents.begin(), documents.end());
}

TwoParts similarities_of(const std::vector<float>& rows, const std::vector<int8_t>& part_of, int64_t half) {
    const int64_t n = std::ssize(part_of);
    std::vector<float> sums(4 * half, 0.f);  // [part][half]
    double sizes[2] = {0, 0};
    for (int64_t i = 0; i < n; ++i) {
        clones::add_to(sums.data() + part_of[i] * 2 * half, rows.data() + i * 2 * half, 1, 2 * half);
        ++sizes[part_of[i]];
    }
    TwoParts found{};
    const auto mean_across = [&](int64_t first) {
        return static_cast<float>(product(sums.data() + first, sums.data() + 2 * half + first, half) /
                                  (sizes[0] * sizes[1]));
    };
    const auto mean_within = [&](int part, int64_t first) {
        double own = 0;  // of documents with themselves
        for (int64_t i = 0; i < n; ++i) {
            const float* row = rows.data() + i * 2 * half + first;
            if (part_of[i] == part) own += product(row, row, half);
        }
        const float* sum = sums.data() + part * 2 * half + first;
        return static_cast<float>((product(sum, sum, half) - own) /
                                  std::max(1.0, sizes[part] * (sizes[part] - 1)));
    };
    found.text_across = mean_across(0);
    found.labels_across = mean_across(half);
    for (int part = 0; part < 2; ++part) {
        found.text_within[part] = mean_within(part, 0);
        found.labels_within[part] = mean_within(part, half);
    }
    found.evenness = static_cast<float>(4 * sizes[0] * sizes[1] / static_cast<double>(n * n));
    return found;
}

// What a thread needs to split one group.
struct GroupSplitter {
    RowMaker maker;
    SenseSplitter splitter;
    std::vector<float> rows, products;

    explicit GroupSplitter(const SenseProblem& problem) : maker(problem) {}

    struct Found {
        std::vector<int32_t> documents;
        SensePartitions partitions;
        bool by_labels = false;
        TwoParts two{};
    };

    Found split(const SenseProblem& problem, std::span<const int32_t> group, int64_t max_documents,
                Random random) {
        Found found;
        found.documents = documents_of(problem, group);
        sample(found.documents, max_documents, random);
        make_rows(group, found);
        const int64_t n = std::ssize(found.documents);
        if (n < 2) return found;
        products.resize(n * n);
        clones::products_of_rows(rows.data(), n, maker.width(), products.data());
        // Unit rows of both halves: their mean product is the similarity.
        for (float& value : products) value *= 0.5f;
        // Parts are sought to be similar: those of documents at random come to 2 / (pi * width). Three times
        // that is something, but in a space of few directions a quarter is enough.
        const double least_within = std::min(0.25, 2.0 / static_cast<double>(problem.width));
        found.partitions = splitter.split(products.data(), n, least_within, random);
        const auto& halves = found.partitions[0].part_of;
        if (!halves.empty()) found.two = similarities_of(rows, halves, maker.half());
        return found;
    }

  private:
    // Documents without other labels are left out, or, where few have any, all go by text alone.
    void make_rows(std::span<const int32_t> group, Found& found) {
        const int64_t width = maker.width(), half = maker.half();
        rows.resize(found.documents.size() * width);
        std::vector<int32_t> with_labels;
        for (const int32_t document : found.documents)
            if (maker.make(document, group, rows.data() + std::ssize(with_labels) * width))
                with_labels.push_back(document);
        found.by_labels = std::ssize(with_labels) >= enough_with_labels;
        if (found.by_labels) {
            found.documents = std::move(with_labels);
            rows.resize(found.documents.size() * width);
            return;
        }
        for (size_t i = 0; i < found.documents.size(); ++i) {
            float* row = rows.data() + i * width;
            maker.make(found.documents[i], group, row);
            std::copy(row, row + half, row + half);
        }
    }
};

}  // namespace

GroupSplits split_groups(const SenseProblem& problem, const PatternView& groups, int64_t max_documents,
                         uint64_t seed, int n_threads, RunControl& control) {
    constexpr int n_counts = GroupSplits::n_counts;
    std::vector<GroupSplitter::Found> all(groups.n_rows);
    std::vector<GroupSplitter> splitters(std::max(1, n_threads), GroupSplitter(problem));
    parallel_for(groups.n_rows, n_threads, control, [&](int64_t g, int worker) {
        const auto group = groups.row(g);
        const uint64_t stream = group.size() * (uint64_t{1} << 32) + (group.empty() ? 0 : group[0]);
        all[g] = splitters[worker].split(problem, group, max_documents, Random(seed, stream));
        control.advance();
    });

    GroupSplits splits;
    splits.starts.push_back(0);
    for (const auto& found : all) {
        const int64_t n = std::ssize(found.documents);
        splits.starts.push_back(splits.starts.back() + n);
        splits.documents.insert(splits.documents.end(), found.documents.begin(), found.documents.end());
        for (int64_t i = 0; i < n; ++i)
            for (const auto& partition : found.partitions)
                splits.parts.push_back(partition.part_of.empty() ? int8_t{-1} : partition.part_of[i]);
        for (int k = 0; k < n_counts; ++k)
            splits.alikeness.push_back(found.partitions[k].part_of.empty()
                                           ? std::numeric_limits<float>::infinity()
                                           : found.partitions[k].alikeness);
        splits.by_labels.push_back(found.by_labels);
        const auto& two = found.two;
        splits.similarity.insert(splits.similarity.end(),
                                 {two.text_across, two.labels_across, two.text_within[0], two.text_within[1],
                                  two.labels_within[0], two.labels_within[1], two.evenness});
    }
    return splits;
}

PartsOfDocuments assign_documents(const SenseProblem& problem, const int32_t* labels, int64_t n_labels,
                                  const PatternView& looked_at, const int8_t* parts, int n_threads,
                                  RunControl& control) {
    std::vector<int64_t> starts(n_labels + 1, 0);
    for (int64_t i = 0; i < n_labels; ++i)
        starts[i + 1] = starts[i] + std::ssize(problem.documents_of.row(labels[i]));
    PartsOfDocuments found;
    found.parts.resize(starts[n_labels]);
    found.nearness.resize(starts[n_labels]);
    const RowMaker maker(problem);
    const int64_t half = maker.half(), width = maker.width();
    parallel_for(n_labels, n_threads, control, [&](int64_t i, int) {
        const std::span<const int32_t> group(labels + i, 1);
        std::vector<float> row(width), middles(most_parts * width, 0.f);
        const auto known = looked_at.row(i);
        const int8_t* own_parts = parts + looked_at.starts[i];
        int n_parts = 0;
        for (size_t j = 0; j < known.size(); ++j) {
            maker.make(known[j], group, row.data());
            clones::add_to(middles.data() + own_parts[j] * width, row.data(), 1, width);
            n_parts = std::max(n_parts, own_parts[j] + 1);
        }
        for (int part = 0; part < n_parts; ++part) {
            scale(middles.data() + part * width, half, 1);
            scale(middles.data() + part * width + half, half, 1);
        }
        const auto documents = problem.documents_of.row(labels[i]);
        for (size_t d = 0, j = 0; d < documents.size(); ++d) {
            const bool has_labels = maker.make(documents[d], group, row.data());
            const auto near = [&](int part) {
                const float* middle = middles.data() + part * width;
                const double by_text = product(row.data(), middle, half);
                return has_labels ? (by_text + product(row.data() + half, middle + half, half)) / 2 : by_text;
            };
            int best = 0;
            if (j < known.size() && known[j] == documents[d]) {
                best = own_parts[j++];
            } else {
                for (int part = 1; part < n_parts; ++part)
                    if (near(part) > near(best)) best = part;
            }
            found.parts[starts[i] + static_cast<int64_t>(d)] = static_cast<int8_t>(best);
            found.nearness[starts[i] + static_cast<int64_t>(d)] = static_cast<float>(near(best));
        }
        control.advance();
    });
    return found;
}

}  // namespace polyseme
