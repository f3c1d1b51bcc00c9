// Label features, the label tree, and the training of slots.
#include <algorithm>

#include "arrays.hpp"
#include "label_features.hpp"
#include "label_tree.hpp"
#include "slot_trainer.hpp"

namespace polyseme::bindings {

namespace {

Loss loss_of(const std::string& name) {
    if (name == "squared-hinge") return Loss::squared_hinge;
    if (name == "logistic") return Loss::logistic;
    throw std::invalid_argument("loss must be 'squared-hinge' or 'logistic', not '" + name + "'");
}

nb::tuple partition(const In<int64_t>& x_starts, const In<int32_t>& x_columns,
                    const In<float>& x_values, int64_t n_features,
                    const In<int64_t>& label_starts, const In<int32_t>& label_documents,
                    const std::vector<int32_t>& fan_outs, int64_t max_features,
                    int64_t max_documents, int64_t sample_size, int max_iter, uint64_t seed,
                    int n_threads, const nb::object& progress) {
    const MatrixView documents = matrix_view(x_starts, x_columns, x_values, n_features, "X");
    const PatternView labels = pattern_view(label_starts, label_documents, documents.n_rows, "label rows");
    require(max_features >= 1 && max_documents >= 1, "a label needs a feature and a document at least");
    require(sample_size >= 2, "sample_size must be at least 2");
    const LabelFeatureLimits limits{max_features, max_documents};
    const TreeOptions options{fan_outs, max_iter, sample_size, seed};
    auto leaves = run_released(progress, [&](RunControl& control) {
        const auto features = aggregate_label_features(documents, labels, limits, n_threads, control);
        return partition_labels(features, options, n_threads, control);
    });
    return nb::make_tuple(to_numpy(std::move(leaves.starts)), to_numpy(std::move(leaves.labels)));
}

nb::dict train(const In<int64_t>& x_starts, const In<int32_t>& x_columns, const In<float>& x_values,
               int64_t n_features, const In<int64_t>& row_starts, const In<int32_t>& row_documents,
               const In<int64_t>& slot_starts, const In<int32_t>& slot_targets,
               const In<int64_t>& positive_starts, const In<int32_t>& positive_documents,
               const std::optional<In<int64_t>>& own_starts,
               const std::optional<In<int32_t>>& own_documents,
               const std::optional<In<int32_t>>& cluster_numbers, const std::string& loss, float cost,
               float tolerance, int max_iter, float bias, float threshold,
               int64_t max_weights_per_label, int weight_bits, uint64_t seed, int64_t max_entries_whole,
               int n_threads, const nb::object& progress) {
    SlotTask task;
    task.features = matrix_view(x_starts, x_columns, x_values, n_features, "X");
    const int64_t n_documents = task.features.n_rows;
    task.training_rows = pattern_view(row_starts, row_documents, n_documents, "training rows");
    task.positives = pattern_view(positive_starts, positive_documents, n_documents, "positives");
    const PatternView slots =
        pattern_view(slot_starts, slot_targets, task.positives.n_rows, "slots");
    require(slots.n_rows == task.training_rows.n_rows, "slots and training rows differ in clusters");
    for (int64_t c = 0; c < slots.n_rows; ++c)
        require(slots.row(c).size() <= 65536, "a cluster may have 65536 slots at most");
    task.slot_starts = slots.starts;
    task.slot_targets = slots.columns;
    if (own_starts && own_documents) {
        task.own_documents = pattern_view(*own_starts, *own_documents, n_documents, "own documents");
        require(task.own_documents.n_rows == slots.n_rows, "own documents and slots differ in clusters");
    }
    if (cluster_numbers) {
        require(static_cast<int64_t>(cluster_numbers->size()) == slots.n_rows,
                "cluster numbers and slots differ in clusters");
        for (size_t c = 0; c < cluster_numbers->size(); ++c)
            require(cluster_numbers->data()[c] >= 0, "a cluster number is negative");
        task.cluster_numbers = cluster_numbers->data();
    }
    task.max_entries_whole = max_entries_whole;
    require(weight_bits == 8 || weight_bits == 32, "weight_bits must be 8 or 32");
    const SolverOptions solver{loss_of(loss), cost, tolerance, max_iter, bias};
    const Pruning pruning{threshold, max_weights_per_label};
    auto trained = run_released(progress, [&](RunControl& control) {
        return train_clusters(task, solver, pruning, weight_bits == 8, seed, n_threads, control);
    });
    return to_python(std::move(trained));
}

}  // namespace

void bind_training(nb::module_& m) {
    m.def("partition_labels", &partition, nb::arg("x_starts").noconvert(),
          nb::arg("x_columns").noconvert(), nb::arg("x_values").noconvert(), nb::arg("n_features"),
          nb::arg("label_starts").noconvert(), nb::arg("label_documents").noconvert(),
          nb::arg("fan_outs"), nb::arg("max_features"), nb::arg("max_documents"),
          nb::arg("sample_size"), nb::arg("max_iter"), nb::arg("seed"), nb::arg("n_threads"),
          nb::arg("progress").none());
    m.def("train_clusters", &train, nb::arg("x_starts").noconvert(),
          nb::arg("x_columns").noconvert(), nb::arg("x_values").noconvert(), nb::arg("n_features"),
          nb::arg("row_starts").noconvert(), nb::arg("row_documents").noconvert(),
          nb::arg("slot_starts").noconvert(), nb::arg("slot_targets").noconvert(),
          nb::arg("positive_starts").noconvert(), nb::arg("positive_documents").noconvert(),
          nb::arg("own_starts").noconvert().none(), nb::arg("own_documents").noconvert().none(),
          nb::arg("cluster_numbers").noconvert().none(), nb::arg("loss"), nb::arg("cost"), nb::arg("tolerance"), nb::arg("max_iter"),
          nb::arg("bias"), nb::arg("threshold"), nb::arg("max_weights_per_label"),
          nb::arg("weight_bits"), nb::arg("seed"), nb::arg("max_entries_whole"), nb::arg("n_threads"),
          nb::arg("progress").none());
}

}  // namespace polyseme::bindings
