#include <cmath>
#include <vector>

#include "check.hpp"
#include "random.hpp"
#include "sparse_solver.hpp"
#include "sparse_trainer.hpp"

using namespace polyseme;

namespace {

// Document i has feature i % n_features and some others, the last ones dense; label l is on the
// documents with feature l, but for a few.
struct Problem {
    std::vector<int64_t> x_starts{0}, row_starts{0}, positive_starts{0}, slot_starts{0};
    std::vector<int32_t> x_columns, row_documents, positive_documents, slot_targets;
    std::vector<float> x_values, dense;
    SlotTask task;

    Problem(int32_t n_documents, int32_t n_features, int32_t n_clusters, int32_t n_slots, int32_t n_dense) {
        Random random(3);
        std::vector<std::vector<int32_t>> having(n_features);
        for (int32_t i = 0; i < n_documents; ++i) {
            for (int32_t f = 0; f < n_features; ++f) {
                if (f != i % n_features && random.below(4) != 0) continue;
                x_columns.push_back(f);
                x_values.push_back(0.5f);
                if (random.below(10) != 0) having[f].push_back(i);
            }
            x_starts.push_back(std::ssize(x_columns));
            for (int32_t j = 0; j < n_dense; ++j) dense.push_back(float(random.below(100)) / 100 - 0.5f);
        }
        for (const auto& documents : having) {
            positive_documents.insert(positive_documents.end(), documents.begin(), documents.end());
            positive_starts.push_back(std::ssize(positive_documents));
        }
        for (int32_t c = 0; c < n_clusters; ++c) {
            for (int32_t i = 0; i < n_documents; ++i)
                if (c != 1 && random.below(3) != 0) row_documents.push_back(i);  // 1 has no rows
            row_starts.push_back(std::ssize(row_documents));
            for (int32_t s = 0; c != 2 && s < n_slots; ++s)  // 2 has no slots
                slot_targets.push_back((c + s) % n_features);
            slot_starts.push_back(std::ssize(slot_targets));
        }
        view(task.documents.sparse, x_starts, x_columns, n_features);
        task.documents.sparse.values = x_values.data();
        task.documents.dense = dense.data();
        task.documents.n_dense = n_dense;
        view(task.training_rows, row_starts, row_documents, n_documents);
        view(task.positives, positive_starts, positive_documents, n_documents);
        task.slot_starts = slot_starts.data();
        task.slot_targets = slot_targets.data();
    }

    static void view(PatternView& pattern, const std::vector<int64_t>& starts,
                     const std::vector<int32_t>& columns, int64_t n_cols) {
        pattern.n_rows = std::ssize(starts) - 1;
        pattern.n_cols = n_cols;
        pattern.starts = starts.data();
        pattern.columns = columns.data();
    }

    LevelWeights train(int n_threads) const {
        RunControl control;
        return train_sparse_clusters(task, {}, {0.01f, 0}, false, 11, n_threads, control).weights;
    }
};

// By how much a solution misses the conditions of an optimum, at its worst weight.
double largest_violation(const LocalColumns& columns, const std::vector<float>& weights,
                         const std::vector<float>& pulls, double cost) {
    std::vector<double> margins(columns.rows.size(), 0);
    for (int32_t c = 0; c < columns.n_columns(); ++c)
        for (const auto& [row, value] : columns.column(c)) margins[row] += double(value) * weights[c];
    double worst = 0;
    for (int32_t c = 0; c < columns.n_columns(); ++c) {
        double gradient = 0;
        for (const auto& [row, value] : columns.column(c)) {
            const double missing = std::max(0.0, std::fabs(pulls[row]) - pulls[row] * margins[row]);
            gradient -= 2 * cost * pulls[row] * value * missing;
        }
        const float w = weights[c];
        worst = std::max(worst, w == 0 ? std::fabs(gradient) - 1 : std::fabs(gradient + (w > 0 ? 1 : -1)));
    }
    return worst;
}

}  // namespace

TEST("columns hold what the rows hold, dense columns and the constant behind the others") {
    const Problem problem(50, 12, 1, 5, 3);
    const auto rows = problem.task.training_rows.row(0);
    const LocalColumns columns(problem.task.documents, rows, 2.f);
    CHECK(columns.n_columns() == columns.n_sparse + 3 + 1);
    CHECK(columns.features.back() == -1 && columns.features[columns.n_sparse] == 12);
    CHECK(columns.column(columns.n_columns() - 1).size() == rows.size());
    int64_t n_entries = 0;
    for (const int32_t document : rows) n_entries += std::ssize(problem.task.documents.sparse.row(document));
    CHECK(columns.starts[columns.n_sparse] == n_entries);
    CHECK(columns.sums.back() == 2.f * float(rows.size()));
}

TEST("a sparse classifier meets the conditions of an optimum, from nothing and from another solution") {
    const Problem problem(200, 30, 1, 1, 4);
    const LocalColumns columns(problem.task.documents, problem.task.training_rows.row(0), 1.f);
    RunControl control;
    SparseSolver solver(columns, control);
    SolverOptions options;
    options.tolerance = 0.001f;
    options.max_iter = 1000;
    for (const int32_t target : {0, 7, 20}) {
        std::vector<float> pulls(columns.rows.size(), -1);
        for (size_t i = 0; i < pulls.size(); ++i)
            for (const int32_t document : problem.task.positives.row(target))
                if (columns.rows[i] == document) pulls[i] = 1.4f;
        for (size_t i = 0; i < pulls.size(); i += 9) pulls[i] = 0;
        for (const bool goes_on : {false, true}) {
            solver.solve(pulls, options, Random(1), goes_on);
            CHECK(largest_violation(columns, solver.weights(), pulls, options.cost) < 0.05);
        }
    }
}

TEST("sparse classifiers are trained the same by any number of threads, in large clusters and in small") {
    for (const int64_t max_entries_whole : {int64_t{10}, int64_t{1} << 20}) {
        Problem problem(120, 40, 9, 21, 3);
        problem.task.max_entries_whole = max_entries_whole;
        const auto one = problem.train(1);
        CHECK(one.bias.size() == 8 * 21);
        const auto many = problem.train(4);
        CHECK(one.bias == many.bias && one.dense == many.dense);
        CHECK(one.bytes == many.bytes && one.record_sizes == many.record_sizes);
    }
}

TEST("the training of sparse classifiers tells how many slots are done, and stops when asked to") {
    const Problem problem(60, 20, 4, 5, 0);
    int64_t last = 0;
    RunControl control([&](int64_t done) { last = done; });
    train_sparse_clusters(problem.task, {}, {}, true, 0, 3, control);
    CHECK(last == 3 * 5);
    control.stop();
    bool interrupted = false;
    try {
        train_sparse_clusters(problem.task, {}, {}, true, 0, 3, control);
    } catch (const Interrupted&) {
        interrupted = true;
    }
    CHECK(interrupted);
}
