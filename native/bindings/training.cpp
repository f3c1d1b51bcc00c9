// Label features, the label tree, and the training of slots.
#include <algorithm>
#include <cmath>

#include "k_means_tree.hpp"
#include "label_features.hpp"
#include "label_tree.hpp"
#include "slot_trainer.hpp"
#include "sparse_arguments.hpp"
#include "sparse_trainer.hpp"

namespace polyseme::bindings {

namespace {

Loss loss_of(const std::string& name) {
    if (name == "squared-hinge") return Loss::squared_hinge;
    if (name == "logistic") return Loss::logistic;
    throw std::invalid_argument("loss must be 'squared-hinge' or 'logistic', not '" + name + "'");
}

// Which of the two solvers a penalty asks for.
bool is_sparse_penalty(const std::string& name) {
    if (name == "l1") return true;
    if (name == "l2") return false;
    throw std::invalid_argument("penalty must be 'l2' or 'l1', not '" + name + "'");
}

nb::tuple partition(const Documents& X, const Pattern& label_rows, const std::vector<int32_t>& fan_outs,
                    int64_t max_features, int64_t max_documents, int64_t sample_size, int max_iter,
                    uint64_t seed, int n_threads, const nb::object& progress) {
    const DocumentsView documents = X.view("X");
    const PatternView labels = label_rows.view("label_rows");
    require(labels.n_cols == documents.n_rows(), "label_rows and X differ in documents");
    require(max_features >= 1 && max_documents >= 1, "a label needs a feature and a document at least");
    require(sample_size >= 2, "sample_size must be at least 2");
    int64_t n_leaves = 1;
    for (const int32_t fan_out : fan_outs) {
        require(fan_out >= 1, "a fan-out must be at least 1");
        n_leaves *= fan_out;
        require(n_leaves <= INT32_MAX, "the tree has too many leaves");
    }
    const LabelFeatureLimits limits{max_features, max_documents};
    const TreeOptions options{fan_outs, max_iter, sample_size, seed};
    auto leaves = run_released(progress, [&](RunControl& control) {
        const auto features = aggregate_label_features(documents, labels, limits, n_threads, control);
        return partition_labels(features, options, n_threads, control);
    });
    return nb::make_tuple(to_numpy(std::move(leaves.starts)), to_numpy(std::move(leaves.labels)));
}

nb::tuple group(const Documents& X, const Pattern& label_rows, int64_t branching, int64_t max_leaf_size,
                int64_t max_levels, int64_t max_features, int64_t max_documents, int64_t sample_size,
                int max_iter, uint64_t seed, int n_threads, const nb::object& progress) {
    const DocumentsView documents = X.view("X");
    const PatternView labels = label_rows.view("label_rows");
    require(labels.n_cols == documents.n_rows(), "label_rows and X differ in documents");
    require(max_features >= 1 && max_documents >= 1, "a label needs a feature and a document at least");
    require(branching >= 2 && branching <= INT32_MAX, "branching must be from 2 to 2147483647");
    require(max_leaf_size >= 1 && max_levels >= 0, "max_leaf_size must be at least 1, max_levels 0");
    require(sample_size >= 2 && max_iter >= 1, "sample_size must be at least 2, max_iter 1");
    const LabelFeatureLimits limits{max_features, max_documents};
    const KMeansTreeOptions options{branching, max_leaf_size, max_levels, max_iter, sample_size, seed};
    auto groups = run_released(progress, [&](RunControl& control) {
        const auto features = aggregate_label_features(documents, labels, limits, n_threads, control);
        return group_labels(features, options, n_threads, control);
    });
    return nb::make_tuple(to_numpy(std::move(groups.parents)), to_numpy(std::move(groups.leaf_of_label)));
}

// What `LinearTraining` and `Run` say.
struct TrainingOptions {
    bool is_sparse;
    SolverOptions solver;
    Pruning pruning;
    int weight_bits;
    uint64_t seed;
    int n_threads;
    int64_t max_entries_whole;

    TrainingOptions(const nb::object& how, const nb::object& run) {
        const auto read_from = [](const nb::object& source, const char* name, auto& value) {
            if (!nb::try_cast(source.attr(name), value))
                throw std::invalid_argument(std::string(name) + " is not a number that the solver can take");
        };
        const auto read = [&](const char* name, auto& value) { read_from(how, name, value); };
        solver.loss = loss_of(nb::cast<std::string>(how.attr("loss")));
        is_sparse = is_sparse_penalty(nb::cast<std::string>(how.attr("penalty")));
        require(!is_sparse || solver.loss == Loss::squared_hinge, "penalty 'l1' needs loss 'squared-hinge'");
        read("cost", solver.cost);
        read("tolerance", solver.tolerance);
        read("max_iter", solver.max_iter);
        read("bias", solver.bias);
        read("min_weight", pruning.threshold);
        std::optional<int64_t> max_weights;
        read("max_weights_per_label", max_weights);
        pruning.max_weights = max_weights.value_or(0);
        read("weight_bits", weight_bits);
        require(weight_bits == 8 || weight_bits == 32, "weight_bits must be 8 or 32");
        read_from(run, "seed", seed);
        read_from(run, "n_threads", n_threads);
        read("max_entries_whole", max_entries_whole);
    }
};

nb::tuple train(const Documents& X, const Pattern& training_rows, const Pattern& slots,
                const Pattern& positives, const nb::object& how, const nb::object& run,
                const std::optional<Pattern>& own_documents,
                const std::optional<In<int32_t>>& cluster_numbers,
                const std::optional<In<float>>& target_weights, const std::optional<In<bool>>& held_out,
                const nb::object& draft_how) {
    const TrainingOptions options(how, run);
    SlotTask task;
    task.documents = X.view("X");
    task.training_rows = training_rows.view("training_rows");
    task.positives = positives.view("positives");
    const int64_t n_documents = task.documents.n_rows();
    require(task.training_rows.n_cols == n_documents, "training_rows and X differ in documents");
    require(task.positives.n_cols == n_documents, "positives and X differ in documents");
    const PatternView targets = slots.view("slots");
    require(targets.n_cols == task.positives.n_rows, "slots and positives differ in targets");
    require(targets.n_rows == task.training_rows.n_rows, "slots and training_rows differ in clusters");
    for (int64_t c = 0; c < targets.n_rows; ++c)
        require(targets.row(c).size() <= 65536, "a cluster may have 65536 slots at most");
    task.slot_starts = targets.starts;
    task.slot_targets = targets.columns;
    if (own_documents) {
        task.own_documents = own_documents->view("own_documents");
        require(task.own_documents.n_cols == n_documents, "own_documents and X differ in documents");
        require(task.own_documents.n_rows == targets.n_rows, "own_documents and slots differ in clusters");
    }
    if (cluster_numbers) {
        require(static_cast<int64_t>(cluster_numbers->size()) == targets.n_rows,
                "cluster_numbers and slots differ in clusters");
        for (size_t c = 0; c < cluster_numbers->size(); ++c)
            require(cluster_numbers->data()[c] >= 0, "a cluster number is negative");
        task.cluster_numbers = cluster_numbers->data();
    }
    if (target_weights) {
        require(static_cast<int64_t>(target_weights->size()) == targets.n_cols,
                "target_weights and positives differ in targets");
        for (size_t t = 0; t < target_weights->size(); ++t)
            require(target_weights->data()[t] >= 1 && std::isfinite(target_weights->data()[t]),
                    "a target's weight must be a number of at least 1");
        task.target_weights = target_weights->data();
    }
    if (held_out) {
        require(static_cast<int64_t>(held_out->size()) == n_documents, "held_out and X differ in documents");
        task.held_out = held_out->data();
        task.draft_solver = TrainingOptions(draft_how, run).solver;
    }
    task.max_entries_whole = options.max_entries_whole;
    TrainedLevel trained = run_released(run.attr("progress"), [&](RunControl& control) {
        const auto train_all = options.is_sparse ? train_sparse_clusters : train_clusters;
        return train_all(task, options.solver, options.pruning, options.weight_bits == 8, options.seed,
                         options.n_threads, control);
    });
    nb::object draft = nb::none();
    if (held_out) draft = to_python(std::move(trained.draft));
    return nb::make_tuple(to_python(std::move(trained.weights)), draft);
}

}  // namespace

void bind_training(nb::module_& m) {
    m.def("partition_labels", &partition, nb::arg("X"), nb::arg("label_rows"), nb::kw_only(),
          nb::arg("fan_outs"), nb::arg("max_features"), nb::arg("max_documents"), nb::arg("sample_size"),
          nb::arg("max_iter"), nb::arg("seed"), nb::arg("n_threads"), nb::arg("progress").none());
    m.def("group_labels", &group, nb::arg("X"), nb::arg("label_rows"), nb::kw_only(), nb::arg("branching"),
          nb::arg("max_leaf_size"), nb::arg("max_levels"), nb::arg("max_features"), nb::arg("max_documents"),
          nb::arg("sample_size"), nb::arg("max_iter"), nb::arg("seed"), nb::arg("n_threads"),
          nb::arg("progress").none());
    m.def("train_clusters", &train, nb::arg("X"), nb::arg("training_rows"), nb::arg("slots"),
          nb::arg("positives"), nb::arg("how"), nb::arg("run"), nb::kw_only(),
          nb::arg("own_documents").none(), nb::arg("cluster_numbers").noconvert().none(),
          nb::arg("target_weights").noconvert().none() = nb::none(),
          nb::arg("held_out").noconvert().none() = nb::none(), nb::arg("draft_how").none() = nb::none());
}

}  // namespace polyseme::bindings
