#include <algorithm>
#include <random>
#include <stdexcept>
#include <vector>

#include "assignment.hpp"
#include "check.hpp"
#include "co_occurrence.hpp"

using namespace polyseme;

namespace {

struct Rows {
    int64_t n_cols;
    std::vector<int64_t> starts{0};
    std::vector<int32_t> columns{};

    void add(std::vector<int32_t> row) {
        std::sort(row.begin(), row.end());
        row.erase(std::unique(row.begin(), row.end()), row.end());
        columns.insert(columns.end(), row.begin(), row.end());
        starts.push_back(static_cast<int64_t>(columns.size()));
    }
    PatternView view() const {
        return {static_cast<int64_t>(starts.size()) - 1, n_cols, starts.data(), columns.data()};
    }
};

// Labels with random documents, documents with random clusters, low numbers more often.
struct Example {
    Rows label_rows, matched, present;
    std::vector<float> scores;
    CoOccurrence counted;

    Example(int n_labels, int n_documents, int n_clusters, unsigned seed)
        : label_rows{n_documents}, matched{n_clusters}, present{n_clusters} {
        std::mt19937 random(seed);
        const auto draw = [&](int n_draws, int end) {
            std::vector<int32_t> row;
            for (int i = 0; i < n_draws; ++i)
                row.push_back(static_cast<int32_t>(random() % (1 + random() % end)));
            return row;
        };
        for (int label = 0; label < n_labels; ++label) {
            label_rows.add(draw(static_cast<int>(random() % 12), n_documents));
            present.add({label % n_clusters});
        }
        for (int document = 0; document < n_documents; ++document)
            matched.add(draw(static_cast<int>(random() % 6), n_clusters));
        for (size_t e = 0; e < matched.columns.size(); ++e)
            scores.push_back(static_cast<float>(random() % 8) / 8);
        counted = count(1);
    }

    CoOccurrence count(int n_threads) const {
        RunControl control;
        MatrixView view;
        static_cast<PatternView&>(view) = matched.view();
        view.values = scores.data();
        return count_co_occurrence(label_rows.view(), view, n_threads, control);
    }

    AssignmentProblem problem() const {
        AssignmentProblem problem;
        static_cast<PatternView&>(problem.candidates) = {label_rows.view().n_rows, matched.n_cols,
                                                         counted.starts.data(), counted.clusters.data()};
        problem.candidates.counts = counted.counts.data();
        problem.candidates.scores = counted.scores.data();
        problem.present = present.view();
        problem.label_rows = label_rows.view();
        problem.matched = matched.view();
        return problem;
    }

    int64_t n_reached(const ChosenClusters& chosen, int n_threads) const {
        RunControl control;
        const PatternView view{label_rows.view().n_rows, matched.n_cols, chosen.starts.data(),
                               chosen.clusters.data()};
        return count_reached(label_rows.view(), matched.view(), view, n_threads, control);
    }
};

int64_t largest_cluster(const ChosenClusters& chosen, int64_t n_clusters) {
    std::vector<int64_t> sizes(n_clusters);
    for (const int32_t cluster : chosen.clusters) ++sizes[cluster];
    return *std::max_element(sizes.begin(), sizes.end());
}

}  // namespace

TEST("co-occurrence is the same for any number of threads") {
    const Example example(2000, 500, 40, 1);
    for (int n_threads : {2, 5}) {
        const CoOccurrence other = example.count(n_threads);
        CHECK(other.starts == example.counted.starts);
        CHECK(other.clusters == example.counted.clusters);
        CHECK(other.counts == example.counted.counts);
        CHECK(other.scores == example.counted.scores);
    }
}

TEST("coverage reaches at least as much as the closed form, on any number of threads") {
    for (unsigned seed = 0; seed < 20; ++seed) {
        const Example example(600, 100, 15, seed);
        RunControl control;
        for (int64_t copies : {1, 2, 3}) {
            const auto plain = choose_closed_form(example.problem(), copies, 2, control);
            const auto cover = choose_coverage(example.problem(), copies, 2, control);
            CHECK(example.n_reached(cover, 2) >= example.n_reached(plain, 1));
            CHECK(cover.clusters == choose_coverage(example.problem(), copies, 1, control).clusters);
        }
    }
}

TEST("capped and adaptive keep clusters small and every label somewhere") {
    for (unsigned seed = 0; seed < 20; ++seed) {
        const Example example(300, 100, 15, seed);
        RunControl control;
        for (int64_t size : {20, 21, 30, 80, 1000}) {
            const auto capped = choose_capped(example.problem(), 2, size, control);
            const auto adaptive = choose_adaptive(example.problem(), 2, size, 2, control);
            for (const auto& chosen : {capped, adaptive}) {
                CHECK(largest_cluster(chosen, 15) <= size);
                CHECK(chosen.clusters.size() <= 600);
                for (int label = 0; label < 300; ++label)
                    CHECK(chosen.starts[label] < chosen.starts[label + 1]);
            }
        }
    }
}

TEST("a co-occurrence that does not fit its documents is refused") {
    Example example(50, 40, 10, 3);
    for (int change : {-1, 1}) {
        for (int32_t& count : example.counted.counts) count = std::max(1, count + change);
        bool refused = false;
        RunControl control;
        try {
            choose_coverage(example.problem(), 2, 2, control);
        } catch (const std::invalid_argument&) {
            refused = true;
        }
        CHECK(refused);
        example.counted = example.count(1);
    }
}

TEST("a stopped control leaves no half-made choice behind") {
    const Example example(5000, 500, 50, 4);
    RunControl control;
    control.stop();
    bool interrupted = false;
    try {
        choose_capped(example.problem(), 2, 150, control);
    } catch (const Interrupted&) {
        interrupted = true;
    }
    CHECK(interrupted);
}
