#include <cmath>
#include <vector>

#include "check.hpp"
#include "linear_level.hpp"
#include "random.hpp"
#include "slot_trainer.hpp"

using namespace polyseme;

namespace {

// Owns what a task looks at. Document i has feature i % n_features and some others; label l is
// on the documents with feature l. Clusters overlap. Some documents have a feature of their own.
struct Problem {
    std::vector<int64_t> x_starts{0}, row_starts{0}, positive_starts{0}, slot_starts{0};
    std::vector<int32_t> x_columns, row_documents, positive_documents, slot_targets;
    std::vector<float> x_values;
    SlotTask task;

    Problem(int32_t n_documents, int32_t n_features, int32_t n_clusters, int32_t n_slots, int32_t n_own = 0) {
        Random random(3);
        std::vector<std::vector<int32_t>> having(n_features);
        for (int32_t i = 0; i < n_documents; ++i) {
            for (int32_t f = 0; f < n_features; ++f) {
                if (f != i % n_features && random.below(4) != 0) continue;
                x_columns.push_back(f);
                x_values.push_back(0.5f);
                having[f].push_back(i);
            }
            if (i < n_own) {
                x_columns.push_back(n_features + i);
                x_values.push_back(0.7f);
            }
            x_starts.push_back(static_cast<int64_t>(x_columns.size()));
        }
        for (const auto& documents : having) {
            positive_documents.insert(positive_documents.end(), documents.begin(), documents.end());
            positive_starts.push_back(static_cast<int64_t>(positive_documents.size()));
        }
        for (int32_t c = 0; c < n_clusters; ++c) {
            for (int32_t i = 0; i < n_documents; ++i)
                if (c != 1 && random.below(3) != 0) row_documents.push_back(i);  // 1 has no rows
            row_starts.push_back(static_cast<int64_t>(row_documents.size()));
            for (int32_t s = 0; c != 2 && s < n_slots; ++s)  // 2 has no slots
                slot_targets.push_back((c + s) % n_features);
            slot_starts.push_back(static_cast<int64_t>(slot_targets.size()));
        }
        view(task.documents.sparse, x_starts, x_columns, n_features + n_own);
        task.documents.sparse.values = x_values.data();
        view(task.training_rows, row_starts, row_documents, n_documents);
        view(task.positives, positive_starts, positive_documents, n_documents);
        task.slot_starts = slot_starts.data();
        task.slot_targets = slot_targets.data();
    }

    static void view(PatternView& pattern, const std::vector<int64_t>& starts,
                     const std::vector<int32_t>& columns, int64_t n_cols) {
        pattern.n_rows = static_cast<int64_t>(starts.size()) - 1;
        pattern.n_cols = n_cols;
        pattern.starts = starts.data();
        pattern.columns = columns.data();
    }

    // The weights of all slots.
    std::vector<float> weights(const LevelWeights& trained) const {
        LevelWeightsView view;
        view.n_clusters = static_cast<int64_t>(slot_starts.size()) - 1;
        view.n_sparse = task.documents.sparse.n_cols;
        view.slot_starts = slot_starts.data();
        view.record_sizes = trained.record_sizes.data();
        view.bytes = trained.bytes;
        view.bias = trained.bias.data();
        const LinearLevel level(view);
        std::vector<float> all;
        for (int64_t c = 0; c < level.n_clusters(); ++c)
            for (int64_t slot = 0; slot < level.size(c); ++slot)
                for (const auto& [feature, weight] : level.slot_weights(c, slot)) all.push_back(weight);
        return all;
    }

    LevelWeights train(int n_threads, const Pruning& pruning = {}, Loss loss = Loss::squared_hinge) const {
        RunControl control;
        SolverOptions options;
        options.loss = loss;
        return train_clusters(task, options, pruning, false, 11, n_threads, control).weights;
    }
};

}  // namespace

TEST("slots are trained the same by any number of threads") {
    const Problem problem(120, 40, 9, 21);
    for (const Loss loss : {Loss::squared_hinge, Loss::logistic}) {
        const auto one = problem.train(1, {}, loss);
        CHECK(one.bias.size() == 8 * 21);
        for (const int n_threads : {2, 5}) {
            const auto many = problem.train(n_threads, {}, loss);
            CHECK(one.bias == many.bias);
            CHECK(one.bytes == many.bytes && one.record_sizes == many.record_sizes);
        }
    }
}

TEST("a cluster so large that its slots are spread over threads is trained the same by any number") {
    const Problem problem(2300, 3000, 1, 17);
    CHECK(problem.task.documents.sparse.n_stored() * 2 / 3 > 1 << 20);
    const SolverOptions hasty{Loss::squared_hinge, 1.f, 0.1f, 1, 1.f};
    RunControl control;
    const auto one = train_clusters(problem.task, hasty, {}, true, 0, 1, control).weights;
    const auto many = train_clusters(problem.task, hasty, {}, true, 0, 3, control).weights;
    CHECK(one.bias.size() == 17);
    CHECK(one.bias == many.bias);
    CHECK(one.bytes == many.bytes && one.record_sizes == many.record_sizes);
}

TEST("a cluster is trained the same alone and among others, whether whole, in pieces or in place") {
    for (const int32_t n_features : {40, 400}) {  // a copy is larger than the weights, or smaller
        // From less than a cluster's entries to more than those of all clusters together.
        for (const int64_t max_entries_whole :
             {int64_t{300}, int64_t{2000}, int64_t{20000}, int64_t{1} << 20}) {
            Problem problem(120, n_features, 9, 21, 30);
            problem.task.max_entries_whole = max_entries_whole;
            const auto whole = problem.train(2);
            const int32_t number = 4;
            Problem part = problem;
            part.task.training_rows.n_rows = 1;
            part.task.training_rows.starts += number;
            part.task.slot_starts += number;
            part.task.cluster_numbers = &number;
            const auto alone = part.train(2);
            CHECK(alone.bias.size() == 21);
            const int64_t first = problem.slot_starts[number];
            CHECK(std::equal(alone.bias.begin(), alone.bias.end(), whole.bias.begin() + first));
        }
    }
}

TEST("clusters without rows or slots do no harm, and pruning keeps what it is told to") {
    const Problem problem(60, 20, 4, 5);
    const auto everything = problem.train(2, {0.f, 0});
    CHECK(everything.bias.size() == 3 * 5);
    for (int slot = 5; slot < 10; ++slot) CHECK(everything.bias[slot] == 0);  // no rows
    const auto all = problem.weights(everything);
    for (const float weight : all) CHECK(weight != 0);
    const auto large = problem.weights(problem.train(2, {0.3f, 0}));
    CHECK(!large.empty() && large.size() < all.size());
    for (const float weight : large) CHECK(std::fabs(weight) >= 0.3f);
    CHECK(problem.weights(problem.train(2, {0.f, 3})).size() == 2 * 5 * 3);
    CHECK(problem.weights(problem.train(2, {1e9f, 0})).empty());
}

TEST("training tells how many slots are done") {
    const Problem problem(60, 20, 4, 5);
    int64_t last = 0;
    RunControl control([&](int64_t done) { last = done; });
    train_clusters(problem.task, {}, {}, true, 0, 3, control);
    CHECK(last == 3 * 5);
}

TEST("training that is asked to stop ends with Interrupted") {
    const Problem problem(60, 20, 4, 5);
    RunControl control;
    control.stop();
    bool interrupted = false;
    try {
        train_clusters(problem.task, {}, {}, true, 0, 3, control);
    } catch (const Interrupted&) {
        interrupted = true;
    }
    CHECK(interrupted);
}
