// The walk of documents through trained levels, from the root to labels in their order.
#include <algorithm>
#include <memory>
#include <numeric>
#include <tuple>

#include "bound_level.hpp"
#include "bound_ordering.hpp"
#include "uniform_cost_search.hpp"

namespace polyseme::bindings {

namespace {

Merge merge_of(const std::string& name) {
    if (name == "mean") return Merge::mean;
    if (name == "sum") return Merge::sum;
    if (name == "max") return Merge::max;
    throw std::invalid_argument("merge must be 'mean', 'sum' or 'max', not '" + name + "'");
}

struct Scratch {
    BeamScratch beam;
    RankScratch rank;
    SearchScratch search;
    DenseValues dense;
    // Of candidates
    std::vector<int32_t> labels;
    std::vector<float> scores;
    std::vector<Facts> facts;
    std::vector<std::pair<float, int32_t>> ordered;
};

// One for each thread for good: a single document must not pay for allocations.
Scratch& thread_scratch() {
    thread_local Scratch scratch;
    return scratch;
}

// A matcher, with or without a ranker below it.
class Predictor {
  public:
    Predictor(const std::vector<BoundLevel*>& matcher, BoundLevel* ranker,
              const std::optional<In<int32_t>>& slot_labels, int64_t n_labels, int64_t n_features,
              const std::string& activation, const BoundOrdering* ordering)
        : ordering_(ordering), n_features_(n_features), n_labels_(n_labels),
          activation_(activation_of(activation)) {
        int64_t n_nodes = 1;
        for (const BoundLevel* bound : matcher) {
            require(bound->level->n_clusters() == n_nodes, "a level does not fit the one above it");
            n_nodes = bound->level->n_slots();
            levels_.push_back(bound->level.get());
            require(has_our_features(*bound->level), "a level does not fit the number of features");
        }
        if (ranker == nullptr) return;
        ranker_ = ranker->level.get();
        require(slot_labels.has_value(), "a ranker needs the labels of its slots");
        require(ranker_->n_clusters() == n_nodes, "the ranker does not fit the matcher");
        require(has_our_features(*ranker_), "the ranker does not fit the number of features");
        // Every label has a slot, so this also keeps a damaged number from asking for memory.
        require(n_labels >= 0 && n_labels <= ranker_->n_slots(),
                "the number of labels does not fit the slots");
        require(static_cast<int64_t>(slot_labels->size()) == ranker_->n_slots(),
                "slot labels do not fit the ranker");
        for (size_t s = 0; s < slot_labels->size(); ++s)
            require(slot_labels->data()[s] >= 0 && slot_labels->data()[s] < n_labels,
                    "a label number is out of range");
        slot_labels_ = *slot_labels;
        table_.emplace(*ranker_, std::span<const int32_t>(slot_labels_.data(), slot_labels_.size()),
                       n_labels);
        if (never_rises(activation_)) search_.emplace(levels_, *ranker_, *table_, activation_);
        require(ordering_ == nullptr || static_cast<int64_t>(ordering_->label_counts.size()) == n_labels,
                "the ordering does not fit the number of labels");
        if (ordering_ != nullptr) require_fitting(ordering_->names);
    }

    nb::tuple match(const Documents& X, int32_t beam_size, int n_threads, const nb::object& progress) const {
        const DocumentsView documents = checked(X);
        require(beam_size > 0, "beam_size must be at least 1");
        const int64_t n = documents.n_rows();
        const int64_t n_nodes = levels_.empty() ? 1 : levels_.back()->n_slots();
        beam_size = static_cast<int32_t>(std::min<int64_t>(beam_size, n_nodes));
        std::vector<int64_t> row_starts(n + 1, 0);
        std::vector<int32_t> clusters;
        std::vector<float> scores;
        run_released(progress, [&](RunControl& control) {
            // Rows sorted by cluster, first with room for a full beam each.
            std::vector<std::pair<int32_t, float>> all(n * beam_size);
            for_each_beam(documents, beam_size, n_threads, control,
                          [&](int64_t i, const Document&, const Beam& beam) {
                              row_starts[i + 1] = beam.size();
                              auto* const row = all.data() + i * beam_size;
                              for (int32_t r = 0; r < beam.size(); ++r)
                                  row[r] = {beam.nodes[r], beam.scores[r]};
                              std::sort(row, row + beam.size());
                          });
            for (int64_t i = 0; i < n; ++i) row_starts[i + 1] += row_starts[i];
            clusters.resize(row_starts[n]);
            scores.resize(row_starts[n]);
            for (int64_t i = 0; i < n; ++i) {
                for (int64_t e = row_starts[i]; e < row_starts[i + 1]; ++e)
                    std::tie(clusters[e], scores[e]) = all[i * beam_size + e - row_starts[i]];
            }
            return 0;
        });
        return nb::make_tuple(to_numpy(std::move(row_starts)), to_numpy(std::move(clusters)),
                              to_numpy(std::move(scores)));
    }

    // Without a beam size nothing is left out: the search is exact.
    nb::tuple top_k(const Documents& X, std::optional<int32_t> beam_size, int32_t k,
                    const std::string& merge_name, int n_threads, const nb::object& progress) const {
        const DocumentsView documents = checked(X);
        require(beam_size.value_or(1) > 0 && k > 0, "beam_size and k must be at least 1");
        require(ranker_ != nullptr, "this predictor has no ranker");
        if (!beam_size) require_search();
        const Merge merge = merge_of(merge_name);
        const int64_t n = documents.n_rows();
        NewMatrix<int32_t> labels(n, k);
        NewMatrix<float> scores(n, k);
        run_released(progress, [&](RunControl& control) {
            for_each_document(documents, n_threads, control, [&](int64_t i, const Document& document) {
                top_k_of(document, beam_size, merge, k, labels.row(i), scores.row(i));
            });
            return 0;
        });
        return nb::make_tuple(labels.to_python(), scores.to_python());
    }

    // For a single row: declines, with None, whatever is not finite, in range and ascending, or is zero.
    template <class Start, class Column, class Value>
    nb::object top_k_of_row(const In<Start>& starts, const In<Column>& columns, const In<Value>& values,
                            std::optional<int32_t> beam_size, int32_t k,
                            const std::string& merge_name) const {
        const size_t n = columns.size();
        if (ranker_ == nullptr || beam_size.value_or(1) < 1 || k < 1 || values.size() != n ||
            starts.size() != 2 || starts.data()[0] != 0 || starts.data()[1] != static_cast<Start>(n))
            return nb::none();
        thread_local std::vector<int32_t> features;
        thread_local std::vector<float> floats;
        features.resize(n);
        floats.resize(n);
        bool plain = true;
        int64_t before = -1;
        for (size_t e = 0; e < n; ++e) {
            features[e] = static_cast<int32_t>(columns.data()[e]);
            floats[e] = static_cast<float>(values.data()[e]);
            // A stored zero is no word of the document.
            plain &= before < columns.data()[e] && floats[e] - floats[e] == 0 && floats[e] != 0;
            before = columns.data()[e];
        }
        if (!plain || n_dense() > 0 || before >= n_features_) return nb::none();
        if (!beam_size) require_search();
        const Merge merge = merge_of(merge_name);
        NewMatrix<int32_t> labels(1, k);
        NewMatrix<float> scores(1, k);
        {
            nb::gil_scoped_release release;
            top_k_of({features, floats}, beam_size, merge, k, labels.row(0), scores.row(0));
        }
        return nb::make_tuple(labels.to_python(), scores.to_python());
    }

    // All labels that get to a threshold, which is one for all labels, or each its own.
    nb::tuple above(const Documents& X, const In<float>& thresholds, const std::string& merge_name,
                    int n_threads, const nb::object& progress) const {
        const DocumentsView documents = checked(X);
        require(ranker_ != nullptr, "this predictor has no ranker");
        require_search();
        const auto n_thresholds = static_cast<int64_t>(thresholds.size());
        require(n_thresholds == 1 || n_thresholds == n_labels_, "thresholds do not fit the labels");
        for (size_t i = 0; i < thresholds.size(); ++i)
            require(thresholds.data()[i] >= 0 && thresholds.data()[i] <= 1, "a threshold is not from 0 to 1");
        const Merge merge = merge_of(merge_name);
        std::vector<std::vector<std::pair<int32_t, float>>> rows(documents.n_rows());
        run_released(progress, [&](RunControl& control) {
            const std::span<const float> all{thresholds.data(), thresholds.size()};
            const Thresholds wanted =
                n_thresholds == 1 ? Thresholds(*search_, merge, all[0]) : Thresholds(*search_, merge, all);
            for_each_document(documents, n_threads, control, [&](int64_t i, const Document& document) {
                search_above(*search_, document, merge, wanted, thread_scratch().search, rows[i]);
            });
            return 0;
        });
        return to_rows(rows);
    }

    nb::tuple all_scores(const Documents& X, int32_t beam_size, const std::string& merge_name, int n_threads,
                         const nb::object& progress) const {
        const DocumentsView documents = checked(X);
        require(beam_size > 0, "beam_size must be at least 1");
        require(ranker_ != nullptr, "this predictor has no ranker");
        const Merge merge = merge_of(merge_name);
        std::vector<std::vector<std::pair<int32_t, float>>> rows(documents.n_rows());
        run_released(progress, [&](RunControl& control) {
            for_each_beam(documents, beam_size, n_threads, control,
                          [&](int64_t i, const Document& document, const Beam& beam) {
                              rank_every(document, beam, merge, thread_scratch(), rows[i]);
                          });
            return 0;
        });
        return to_rows(rows);
    }

    // The labels with the best products, and what is known of each: to learn an order from.
    nb::tuple candidates(const Documents& X, int32_t beam_size, const std::string& merge_name,
                         const In<float>& label_counts, const BoundNames* names, int n_threads,
                         const nb::object& progress) const {
        const DocumentsView documents = checked(X);
        require(beam_size > 0, "beam_size must be at least 1");
        require(ranker_ != nullptr, "this predictor has no ranker");
        require(static_cast<int64_t>(label_counts.size()) == n_labels_, "label counts do not fit the labels");
        const Merge merge = merge_of(merge_name);
        require_fitting(names);
        const KnownOfLabels known{span_of(label_counts), names ? &names->names : nullptr};
        const int64_t n = documents.n_rows();
        std::vector<int32_t> labels(n * most_candidates, -1);
        std::vector<float> scores(n * most_candidates);
        std::vector<Facts> facts(n * most_candidates);
        run_released(progress, [&](RunControl& control) {
            for_each_beam(
                documents, beam_size, n_threads, control,
                [&](int64_t i, const Document& document, const Beam& beam) {
                    const int64_t first = i * most_candidates;
                    const FactsWanted wanted{1, known, facts.data() + first};
                    const int32_t found = rank_top_k(*ranker_, *table_, document, beam, activation_, merge,
                                                     most_candidates, thread_scratch().rank,
                                                     labels.data() + first, scores.data() + first, &wanted);
                    std::fill(labels.data() + first + found, labels.data() + first + most_candidates, -1);
                });
            return 0;
        });
        std::vector<float> flat;
        flat.reserve(facts.size() * n_facts);
        for (const Facts& one : facts) flat.insert(flat.end(), one.begin(), one.end());
        return nb::make_tuple(to_numpy(std::move(labels)), to_numpy(std::move(flat)));
    }

  private:
    // All levels have as many dense columns as the first.
    bool has_our_features(const LinearLevel& level) const {
        return level.n_features() == n_features_ && level.n_dense() == n_dense();
    }
    void require_fitting(const BoundNames* names) const {
        if (names == nullptr) return;
        require(names->n_labels() == n_labels_, "the names do not fit the number of labels");
        require(static_cast<int64_t>(names->word_of_feature.size()) == n_features_ - n_dense(),
                "the words of names do not fit the number of features");
    }
    int64_t n_dense() const {
        return !levels_.empty() ? levels_[0]->n_dense() : ranker_ ? ranker_->n_dense() : 0;
    }
    DocumentsView checked(const Documents& X) const {
        const DocumentsView documents = X.view("X");
        require(documents.n_features() == n_features_, "X and the model differ in features");
        require(documents.n_dense == n_dense() || (levels_.empty() && ranker_ == nullptr),
                "X and the model differ in dense features");
        return documents;
    }

    // Rows of labels and scores as the arrays of one matrix.
    static nb::tuple to_rows(std::vector<std::vector<std::pair<int32_t, float>>>& rows) {
        std::vector<int64_t> row_starts(1, 0);
        for (const auto& row : rows)
            row_starts.push_back(row_starts.back() + static_cast<int64_t>(row.size()));
        std::vector<int32_t> labels;
        std::vector<float> scores;
        labels.reserve(row_starts.back());
        scores.reserve(row_starts.back());
        for (auto& row : rows) {
            for (const auto& [label, score] : row) {
                labels.push_back(label);
                scores.push_back(score);
            }
            std::vector<std::pair<int32_t, float>>().swap(row);
        }
        return nb::make_tuple(to_numpy(std::move(row_starts)), to_numpy(std::move(labels)),
                              to_numpy(std::move(scores)));
    }

    void require_search() const {
        require(search_.has_value(), "an exact search needs scores that multiply: not activation 'none'");
        require(ordering_ == nullptr, "an exact search finds the best products, not a learned order");
    }

    // The k best labels of one document, by the beam or exactly.
    void top_k_of(const Document& document, std::optional<int32_t> beam_size, Merge merge, int32_t k,
                  int32_t* labels, float* scores) const {
        Scratch& scratch = thread_scratch();
        if (beam_size) {
            const Beam& beam = walk(levels_, document, *beam_size, activation_, scratch.beam);
            return rank(document, beam, merge, k, scratch, labels, scores);
        }
        const int32_t found = search_top_k(*search_, document, merge, k, scratch.search, labels, scores);
        std::fill(labels + found, labels + k, -1);
        std::fill(scores + found, scores + k, 0.f);
    }

    // The k best labels of a document by its beam, and what is put behind them where there are fewer.
    void rank(const Document& document, const Beam& beam, Merge merge, int32_t k, Scratch& scratch,
              int32_t* labels, float* scores) const {
        const int32_t found = ordering_ == nullptr
                                  ? rank_top_k(*ranker_, *table_, document, beam, activation_, merge, k,
                                               scratch.rank, labels, scores)
                                  : rank_in_order(document, beam, merge, k, scratch, labels, scores);
        std::fill(labels + found, labels + k, -1);
        std::fill(scores + found, scores + k, 0.f);
    }

    // By the learned order. What comes first does not depend on k.
    int32_t rank_in_order(const Document& document, const Beam& beam, Merge merge, int32_t k,
                          Scratch& scratch, int32_t* labels, float* scores) const {
        const int32_t n = std::max(k, most_candidates);
        if (std::ssize(scratch.labels) < n) {
            scratch.labels.resize(n);
            scratch.scores.resize(n);
            scratch.facts.resize(n);
        }
        const FactsWanted wanted{k, ordering_->known(), scratch.facts.data()};
        const int32_t found = rank_top_k(*ranker_, *table_, document, beam, activation_, merge, n,
                                         scratch.rank, scratch.labels.data(), scratch.scores.data(), &wanted);
        scratch.ordered.clear();
        for (int32_t i = 0; i < found; ++i)
            scratch.ordered.emplace_back(ordering_->ordering.value(scratch.facts[i]), scratch.labels[i]);
        put_in_order(scratch.ordered, std::span(scratch.scores).first(found), document);
        const int32_t kept = std::min(found, k);
        for (int32_t i = 0; i < kept; ++i) std::tie(scores[i], labels[i]) = scratch.ordered[i];
        return kept;
    }

    // Values of labels become probabilities, those of candidates in order; products are best first.
    void put_in_order(std::vector<std::pair<float, int32_t>>& values, std::span<const float> products,
                      const Document& document) const {
        ordering_->ordering.order(values, count_candidates(products), length_of(document),
                                  ordering_->bonus());
    }

    // All reached labels of one document in ascending order, with their scores.
    void rank_every(const Document& document, const Beam& beam, Merge merge, Scratch& scratch,
                    std::vector<std::pair<int32_t, float>>& row) const {
        if (ordering_ == nullptr)
            return rank_all(*ranker_, *table_, document, beam, activation_, merge, scratch.rank, row);
        const KnownOfLabels known = ordering_->known();
        std::vector<Facts> facts;
        rank_all(*ranker_, *table_, document, beam, activation_, merge, scratch.rank, row, &known, &facts);
        std::vector<int32_t> by_score(row.size());
        std::iota(by_score.begin(), by_score.end(), 0);
        std::stable_sort(by_score.begin(), by_score.end(),
                         [&](int32_t one, int32_t other) { return row[one].second > row[other].second; });
        scratch.ordered.clear();
        scratch.scores.clear();
        for (const int32_t i : by_score) {
            scratch.ordered.emplace_back(ordering_->ordering.value(facts[i]), row[i].first);
            scratch.scores.push_back(row[i].second);
        }
        put_in_order(scratch.ordered, scratch.scores, document);
        for (size_t i = 0; i < row.size(); ++i) std::tie(row[i].second, row[i].first) = scratch.ordered[i];
        std::sort(row.begin(), row.end());
    }

    // Calls visit(document number, document, its beam at the leaves) for every document.
    template <class F>
    void for_each_beam(const DocumentsView& documents, int32_t beam_size, int n_threads, RunControl& control,
                       F&& visit) const {
        for_each_document(documents, n_threads, control, [&](int64_t i, const Document& document) {
            visit(i, document, walk(levels_, document, beam_size, activation_, thread_scratch().beam));
        });
    }

    template <class F>
    static void for_each_document(const DocumentsView& documents, int n_threads, RunControl& control,
                                  F&& visit) {
        const int64_t n = documents.n_rows();
        auto visit_some = [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                control.throw_if_stopped();
                visit(i, document_of(documents, i, thread_scratch().dense));
            }
        };
        // So few documents are done before a thread has started.
        constexpr int64_t few = 16, per_block = 64;
        if (n <= few) return visit_some(0, n);
        parallel_for((n + per_block - 1) / per_block, n_threads, control, [&](int64_t b, int) {
            const int64_t begin = b * per_block, end = std::min(n, begin + per_block);
            visit_some(begin, end);
            control.advance(end - begin);
        });
    }

    std::vector<const LinearLevel*> levels_;
    const LinearLevel* ranker_ = nullptr;
    const BoundOrdering* ordering_ = nullptr;
    In<int32_t> slot_labels_;
    std::optional<SlotTable> table_;
    std::optional<SearchTree> search_;  // where scores multiply
    int64_t n_features_, n_labels_;
    Activation activation_;
};

template <class Start, class Column, class Value>
void def_top_k_of_row(nb::class_<Predictor>& predictor) {
    predictor.def("top_k_of_row", &Predictor::top_k_of_row<Start, Column, Value>,
                  nb::arg("starts").noconvert(), nb::arg("columns").noconvert(),
                  nb::arg("values").noconvert(), nb::arg("beam_size").none(), nb::arg("k"), nb::arg("merge"));
}

}  // namespace

void bind_prediction(nb::module_& m) {
    nb::class_<BoundNames>(m, "NameWords")
        .def(nb::init<const In<int32_t>&, const In<int64_t>&, const In<int32_t>&>(),
             nb::arg("word_of_feature").noconvert(), nb::arg("starts").noconvert(),
             nb::arg("words").noconvert());
    nb::class_<BoundOrdering>(m, "LabelOrdering")
        .def(nb::init<const In<int64_t>&, const In<float>&, const In<float>&, const In<float>&,
                      const In<float>&, const std::optional<In<float>>&, const BoundNames*>(),
             nb::arg("knot_starts").noconvert(), nb::arg("knots").noconvert(), nb::arg("values").noconvert(),
             nb::arg("curve").noconvert(), nb::arg("label_counts").noconvert(),
             nb::arg("label_bonus").noconvert().none() = nb::none(), nb::arg("names").none() = nb::none(),
             nb::keep_alive<1, 8>());
    nb::class_<Predictor> predictor(m, "Predictor");
    predictor
        .def(nb::init<const std::vector<BoundLevel*>&, BoundLevel*, const std::optional<In<int32_t>>&,
                      int64_t, int64_t, const std::string&, const BoundOrdering*>(),
             nb::arg("matcher"), nb::arg("ranker").none(), nb::arg("slot_labels").none(), nb::arg("n_labels"),
             nb::arg("n_features"), nb::arg("activation"), nb::arg("ordering").none() = nb::none(),
             nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 8>())
        .def("candidates", &Predictor::candidates, nb::arg("X"), nb::arg("beam_size"), nb::arg("merge"),
             nb::arg("label_counts").noconvert(), nb::arg("names").none(), nb::arg("n_threads"),
             nb::arg("progress").none())
        .def("match", &Predictor::match, nb::arg("X"), nb::arg("beam_size"), nb::arg("n_threads"),
             nb::arg("progress").none())
        .def("top_k", &Predictor::top_k, nb::arg("X"), nb::arg("beam_size").none(), nb::arg("k"),
             nb::arg("merge"), nb::arg("n_threads"), nb::arg("progress").none())
        .def("above", &Predictor::above, nb::arg("X"), nb::arg("thresholds").noconvert(), nb::arg("merge"),
             nb::arg("n_threads"), nb::arg("progress").none())
        .def("all_scores", &Predictor::all_scores, nb::arg("X"), nb::arg("beam_size"), nb::arg("merge"),
             nb::arg("n_threads"), nb::arg("progress").none());
    // The types that SciPy gives a row; other arguments are declined.
    def_top_k_of_row<int32_t, int32_t, float>(predictor);
    def_top_k_of_row<int32_t, int32_t, double>(predictor);
    def_top_k_of_row<int64_t, int32_t, float>(predictor);
    def_top_k_of_row<int64_t, int32_t, double>(predictor);
    def_top_k_of_row<int64_t, int64_t, float>(predictor);
    def_top_k_of_row<int64_t, int64_t, double>(predictor);
    predictor.def("top_k_of_row", [](const Predictor&, const nb::args&) { return nb::none(); });
}

}  // namespace polyseme::bindings
