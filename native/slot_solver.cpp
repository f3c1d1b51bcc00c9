#include "slot_solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "dense_rows.hpp"
#include "lanes.hpp"
#include "simd.hpp"

namespace polyseme {

namespace {

using namespace lanes;

template <int Lanes>
POLYSEME_INLINE void add_row(const LocalRows& rows, int32_t i, const typename Vectors<Lanes>::Float& step,
                             typename Vectors<Lanes>::Float* weights) {
    const LocalRows::Row& row = rows.rows[i];
    for (int64_t e = row.begin; e < row.end; ++e) weights[rows.features[e]] += step * rows.values[e];
}

// Rows come in random order: the processor would not guess where the next one is.
POLYSEME_INLINE void prefetch_row(const LocalRows& rows, int32_t i) {
    const LocalRows::Row& row = rows.rows[i];
    for (int64_t e = row.begin; e < row.end; e += 16) {
        __builtin_prefetch(rows.features + e);
        __builtin_prefetch(rows.values + e);
    }
}

// 1 where a target (-1, 0 or 1) is 1, else 0.
template <class Float>
POLYSEME_INLINE Float is_positive(const Float& target) {
    return (target * target + target) * 0.5f;
}

// Duals start at the best solution that is constant on the positives and on the negatives of a
// lane: a classifier by centroids. Most of the way, above all that of the bias, is then behind.
template <int Lanes, bool has_dense>
POLYSEME_INLINE void start_from_centroids(const LocalRows& rows, const LaneProblem& problem, float bias,
                                          float diagonal, const typename Vectors<Lanes>::Float& relief,
                                          typename Vectors<Lanes>::Float& bias_weights) {
    using Float = typename Vectors<Lanes>::Float;
    using Byte = typename Vectors<Lanes>::Byte;
    auto* const weights = reinterpret_cast<Float*>(problem.weights);
    auto* const duals = reinterpret_cast<Float*>(problem.duals);
    auto* const targets = reinterpret_cast<const Byte*>(problem.targets);
    const int32_t n_rows = rows.n_rows(), n_weights = rows.n_weights();
    DenseRows<Lanes> dense(problem.weights + int64_t{rows.n_features} * Lanes, rows.n_dense);
    const auto add = [&](int32_t i, const Float& step) {
        add_row<Lanes>(rows, i, step, weights);
        if constexpr (has_dense) dense.add(rows.dense[i], step);
    };
    const Float zero = {};
    const Float one = zero + 1.f;
    const Byte negative = Byte{} - 1;

    // The sum of the positives of each lane, and its products with the sum of all rows.
    Float n_positive = zero, n_negative = zero;
    Float on_pos = zero, on_neg = zero;  // the diagonal of the dual problem, summed
    for (int32_t f = 0; f < n_weights; ++f) weights[f] = zero;
    for (int32_t i = 0; i < n_rows; ++i) {
        const float on_row = diagonal + rows.rows[i].own_square;
        if (!any_set(targets[i] != negative)) {
            n_negative += one;
            on_neg += on_row;
            continue;
        }
        const Float target = __builtin_convertvector(targets[i], Float);
        const Float positive = is_positive(target), is_negative = is_positive(-target);
        n_positive += positive;
        n_negative += is_negative;
        on_pos += positive * (on_row - relief);
        on_neg += is_negative * on_row;
        if (any_set(targets[i] > Byte{})) add(i, positive);
    }
    if constexpr (has_dense) dense.add_waiting();
    Float pos_pos = n_positive * n_positive * (bias * bias);
    Float pos_all = n_positive * (n_positive + n_negative) * (bias * bias);
    Float all_all = (n_positive + n_negative) * (n_positive + n_negative) * (bias * bias);
    for (int32_t f = 0; f < n_weights; ++f) {
        pos_pos += weights[f] * weights[f];
        pos_all += weights[f] * rows.feature_sums[f];
        all_all += rows.feature_sums[f] * rows.feature_sums[f];
    }
    const Float pos_neg = pos_all - pos_pos;
    const Float neg_neg = all_all - pos_all - pos_neg;

    // Two linear equations for the two constants; unused classes must not disturb.
    on_pos += pos_pos;
    on_neg += neg_neg;
    const Float determinant = on_pos * on_neg - pos_neg * pos_neg;
    const auto both = (determinant > on_pos * on_neg * 1e-6f) & (determinant < zero + infinity);
    Float dual_pos = (n_positive * on_neg + n_negative * pos_neg) / determinant;
    Float dual_neg = (n_negative * on_pos + n_positive * pos_neg) / determinant;
    dual_pos = both ? dual_pos : zero;
    const auto only_negatives = (n_negative > zero) & (on_neg < zero + infinity);
    dual_neg = both ? dual_neg : (only_negatives ? n_negative / on_neg : zero);
    // A dual below zero would pass for a row that is done.
    dual_pos = larger(dual_pos, zero);
    dual_neg = larger(dual_neg, zero);

    for (int32_t f = 0; f < n_weights; ++f) weights[f] = dual_neg * -rows.feature_sums[f];
    bias_weights = (dual_pos * n_positive - dual_neg * n_negative) * bias;
    for (int32_t i = 0; i < n_rows; ++i) {
        if (!any_set(targets[i] != negative)) {
            duals[i] = dual_neg;
            continue;
        }
        const Float target = __builtin_convertvector(targets[i], Float);
        const Float is_negative = is_positive(-target);
        duals[i] = is_positive(target) * dual_pos + is_negative * dual_neg;
        add(i, (one - is_negative) * (duals[i] + dual_neg));
    }
    if constexpr (has_dense) dense.add_waiting();
}

// The duals of the logistic loss lie strictly inside (0, cost); they start close to 0.
template <int Lanes, bool has_dense>
POLYSEME_INLINE void start_from_duals(const LocalRows& rows, const LaneProblem& problem,
                                      const SolverOptions& options,
                                      typename Vectors<Lanes>::Float& bias_weights) {
    using Float = typename Vectors<Lanes>::Float;
    using Byte = typename Vectors<Lanes>::Byte;
    auto* const weights = reinterpret_cast<Float*>(problem.weights);
    auto* const duals = reinterpret_cast<Float*>(problem.duals);
    auto* const targets = reinterpret_cast<const Byte*>(problem.targets);
    DenseRows<Lanes> dense(problem.weights + int64_t{rows.n_features} * Lanes, rows.n_dense);
    const Float zero = {};
    for (int32_t f = 0; f < rows.n_weights(); ++f) weights[f] = zero;
    for (int32_t i = 0; i < rows.n_rows(); ++i) {
        duals[i] = zero + std::min(1e-3f * options.cost, 1e-8f);
        const Float step = duals[i] * __builtin_convertvector(targets[i], Float);
        add_row<Lanes>(rows, i, step, weights);
        if constexpr (has_dense) dense.add(rows.dense[i], step);
        bias_weights += step * options.bias;
    }
    if constexpr (has_dense) dense.add_waiting();
}

// What eight lanes have come to.
struct Progress {
    EightInts running = EightInts{} - 1;      // all bits set in lanes that have not converged
    EightInts unverified = {};                // in those that converged while some rows rested
    Eight shrink_above = Eight{} + infinity;  // a row at zero with a larger gradient rests
    Eight highest, lowest;                    // projected gradients of the present pass

    POLYSEME_INLINE void begin_pass() {
        highest = Eight{} - infinity;
        lowest = Eight{} + infinity;
    }
    POLYSEME_INLINE void end_pass(float tolerance, bool all_rows) {
        const EightInts converged = running & (highest - lowest <= Eight{} + tolerance);
        running &= ~converged;
        if (!all_rows) unverified |= converged;
        shrink_above = highest > Eight{} ? highest : Eight{} + infinity;
    }
    POLYSEME_INLINE void look_again() {
        running = unverified;
        unverified = EightInts{};
        shrink_above = Eight{} + infinity;
    }
};

// One step of eight lanes on one row: `dual` is updated, `step` is what the row adds to the
// weights. Returns the lanes that want the row again.
template <Loss loss>
POLYSEME_INLINE EightInts step_on_row(const Eight& margin_by_sign, const Eight& target, const Eight& own,
                                      const Eight& curvature, const Eight& cost, const SolverOptions& options,
                                      Progress& progress, Eight& dual, Eight& step) {
    const Eight zero = {};
    const EightInts counts = progress.running & (target != zero);
    const Eight margin = target * margin_by_sign + dual * own;
    // Logarithms in single precision are no better than that: steps below it would be noise.
    constexpr float finest = loss == Loss::logistic ? 1e-5f : 0.f;
    const float rest_below = std::max(0.3f * options.tolerance, finest);
    Eight updated, projected;
    EightInts wanting;
    if constexpr (loss == Loss::squared_hinge) {
        const Eight gradient = margin - 1.f;
        projected = dual > zero ? gradient : smaller(gradient, zero);
        updated = larger(dual - gradient / curvature, zero);
        wanting = counts & ~((dual <= zero) & (gradient > progress.shrink_above));
    } else {
        projected = margin + log_of(dual / (cost - dual));
        wanting = counts;
    }
    wanting &= (projected >= zero + rest_below) | (projected <= zero - rest_below);
    if constexpr (loss == Loss::logistic) {
        // Logarithms are what takes time here: a dual that is nearly right stays.
        updated = dual;
        if (any_set(wanting)) {
            const float least = 0.3f * rest_below;
            updated = wanting ? logistic_duals(dual, margin, curvature, cost, wanting, least) : dual;
        }
    }
    projected = counts ? projected : zero;
    progress.highest = larger(progress.highest, projected);
    progress.lowest = smaller(progress.lowest, projected);
    updated = counts ? updated : dual;
    step = (updated - dual) * target;
    dual = updated;
    return wanting;
}

template <int Lanes, Loss loss, bool has_dense>
POLYSEME_INLINE void descend(const LocalRows& rows, const LaneProblem& problem, const SolverOptions& options,
                             Random random, SolverScratch& scratch, const RunControl& control) {
    using Float = typename Vectors<Lanes>::Float;
    constexpr int n_eights = eights_of<Lanes>, at_once = lanes_at_once<Lanes>;

    const int32_t n_rows = rows.n_rows();
    const int32_t* const features = rows.features;
    const float* const values = rows.values;
    auto* const weights = reinterpret_cast<Float*>(problem.weights);
    float* const duals = problem.duals;
    const int8_t* const targets = problem.targets;
    const Float zero = {};
    const float bias = options.bias;
    // The squared hinge loss adds a constant to the diagonal of the dual problem.
    const float diagonal = loss == Loss::squared_hinge ? 0.5f / options.cost : 0.f;
    // Positives that count for more: it is less there.
    Float positive_weights = zero + 1.f;
    if (problem.positive_weights) std::memcpy(&positive_weights, problem.positive_weights, sizeof(Float));
    const Float relief = diagonal - diagonal / positive_weights;
    Eight reliefs[n_eights] = {}, more_cost[n_eights] = {};
    std::memcpy(reliefs, &relief, sizeof(Float));
    const Float more = (positive_weights - 1.f) * options.cost;
    std::memcpy(more_cost, &more, sizeof(Float));

    Float bias_weights = zero;
    if (problem.goes_on) {
        std::memcpy(&bias_weights, problem.bias_weights, sizeof(Float));
    } else if constexpr (loss == Loss::squared_hinge) {
        start_from_centroids<Lanes, has_dense>(rows, problem, bias, diagonal, relief, bias_weights);
    } else {
        start_from_duals<Lanes, has_dense>(rows, problem, options, bias_weights);
    }

    DenseRows<Lanes> dense(problem.weights + int64_t{rows.n_features} * Lanes, rows.n_dense);
    auto& active = scratch.active;
    active.resize(n_rows);
    std::iota(active.begin(), active.end(), 0);
    int32_t n_active = n_rows;
    Progress progress[n_eights];

    // Makes the duals of a row better, given the part of its margins that is not sparse; `step` is
    // what the row adds to the weights. Returns whether some lane wants the row again.
    const auto visit = [&](int32_t i, Float sum0, Float& step) POLYSEME_ALWAYS_INLINE {
        const LocalRows::Row row = rows.rows[i];
        Float sum1 = zero, sum2 = zero, sum3 = zero;
        int64_t e = row.begin;
        for (; e + 4 <= row.end; e += 4) {
            sum0 += weights[features[e]] * values[e];
            sum1 += weights[features[e + 1]] * values[e + 1];
            sum2 += weights[features[e + 2]] * values[e + 2];
            sum3 += weights[features[e + 3]] * values[e + 3];
        }
        for (; e < row.end; ++e) sum0 += weights[features[e]] * values[e];
        const Float sum = (sum0 + sum1) + (sum2 + sum3);
        Eight margins[n_eights] = {}, row_duals[n_eights] = {}, steps[n_eights];
        std::memcpy(margins, &sum, sizeof(sum));
        std::memcpy(row_duals, duals + int64_t{i} * Lanes, sizeof(sum));

        const float own = row.own_square + diagonal;
        const float curvature = row.squared_norm + bias * bias + own;
        EightInts wanting = {};
        for (int h = 0; h < n_eights; ++h) {
            EightBytes row_targets = {};
            std::memcpy(&row_targets, targets + int64_t{i} * Lanes + h * 8, at_once);
            const Eight target = __builtin_convertvector(row_targets, Eight);
            const Eight positive = is_positive(target);
            const Eight less = positive * reliefs[h];
            wanting |= step_on_row<loss>(margins[h], target, own - less, curvature - less,
                                         positive * more_cost[h] + options.cost, options, progress[h],
                                         row_duals[h], steps[h]);
        }
        if (!any_set(wanting)) return false;
        std::memcpy(duals + int64_t{i} * Lanes, row_duals, sizeof(sum));
        std::memcpy(&step, steps, sizeof(step));
        add_row<Lanes>(rows, i, step, weights);
        bias_weights += step * bias;
        return true;
    };

    for (int pass = 0; pass < options.max_iter; ++pass) {
        const bool all_rows = n_active == n_rows;
        shuffle(active.data(), n_active, random);
        for (auto& eight : progress) eight.begin_pass();
        for (int32_t s = 0; s < n_active && !has_dense; ++s) {
            if ((s & 255) == 0) control.throw_if_stopped();
            const int32_t i = active[s];
            if (s + 1 < n_active) prefetch_row(rows, active[s + 1]);
            Float step;
            if (!visit(i, bias_weights * bias, step) && pass > 0) std::swap(active[s--], active[--n_active]);
        }
        for (int32_t s = 0; s < n_active && has_dense;) {
            control.throw_if_stopped();
            const int n = std::min(dense_rows_together, n_active - s);
            const float* dense_rows[dense_rows_together];
            for (int r = 0; r < dense_rows_together; ++r)
                dense_rows[r] = rows.dense[active[s + std::min(r, n - 1)]];
            Float margins[dense_rows_together], steps[dense_rows_together];
            dense.multiply(dense_rows, margins);
            const RowProducts products(dense_rows, rows.n_dense);
            int32_t resting[dense_rows_together];
            int n_awake = 0, n_resting = 0;
            for (int r = 0; r < n; ++r) {
                const int32_t i = active[s + r];
                if (s + r + 1 < n_active) prefetch_row(rows, active[s + r + 1]);
                Float rest = bias_weights * bias + margins[r];
                for (int before = 0; before < r; ++before) rest += steps[before] * products.of[r][before];
                steps[r] = zero;
                const bool is_wanted = visit(i, rest, steps[r]);
                if (is_wanted) dense.wait(dense_rows[r], steps[r]);
                if (is_wanted || pass == 0) active[s + n_awake++] = i;
                else resting[n_resting++] = i;
            }
            dense.add_waiting();
            std::copy_n(resting, n_resting, active.begin() + s + n_awake);
            s += n_awake;
            for (int r = n_resting; r-- > 0;) std::swap(active[s + r], active[--n_active]);
        }

        EightInts running = {}, unverified = {};
        for (auto& eight : progress) {
            eight.end_pass(options.tolerance, all_rows);
            running |= eight.running;
            unverified |= eight.unverified;
        }
        // Rounding may keep the rows that are awake from ever settling: wake all now and then.
        if (pass % 32 == 31) n_active = n_rows;
        if (any_set(running)) continue;
        if (!any_set(unverified)) break;
        // Wake the resting rows and look once more.
        for (auto& eight : progress) eight.look_again();
        n_active = n_rows;
    }
    std::memcpy(problem.bias_weights, &bias_weights, sizeof(Float));
}

}  // namespace

namespace clones {

POLYSEME_CLONES(void, find_large,
                (const Eight* weights, int n_eights, int32_t n_features, float least,
                 std::vector<int32_t>& features),
                (weights, n_eights, n_features, least, features)) {
    const Eight bound = Eight{} + least;
    for (int32_t f = 0; f < n_features; ++f) {
        EightInts large = {};
        for (int h = 0; h < n_eights; ++h, ++weights) large |= (*weights >= bound) | (*weights <= -bound);
        if (any_set(large)) features.push_back(f);
    }
}

POLYSEME_CLONES(void, find_large_of_two,
                (const float* weights, int32_t n_features, float least, std::vector<int32_t>& features),
                (weights, n_features, least, features)) {
    const Eight bound = Eight{} + least;
    const auto offer = [&](int32_t f) {
        const float* const two = weights + 2 * int64_t{f};
        if (std::max(std::fabs(two[0]), std::fabs(two[1])) >= least) features.push_back(f);
    };
    int32_t f = 0;
    for (; f + 4 <= n_features; f += 4) {
        Eight four;
        std::memcpy(&four, weights + 2 * int64_t{f}, sizeof four);
        if (!any_set((four >= bound) | (four <= -bound))) continue;
        for (int32_t near = f; near < f + 4; ++near) offer(near);
    }
    for (; f < n_features; ++f) offer(f);
}

POLYSEME_CLONES(float, add_row_to_sums, (const float* row, int32_t n_columns, float* sums),
                (row, n_columns, sums)) {
    for (int32_t f = 0; f < n_columns; ++f) sums[f] += row[f];
    Eight squares = {};
    int32_t f = 0;
    for (; f + 8 <= n_columns; f += 8) {
        Eight values;
        std::memcpy(&values, row + f, sizeof values);
        squares += values * values;
    }
    float sum = 0;
    for (; f < n_columns; ++f) sum += row[f] * row[f];
    for (int lane = 0; lane < 8; ++lane) sum += squares[lane];
    return sum;
}

#define POLYSEME_DESCENT(name, lanes, loss, has_dense)                                                \
    POLYSEME_CLONES(void, name,                                                                       \
                    (const LocalRows& rows, const LaneProblem& problem, const SolverOptions& options, \
                     Random random, SolverScratch& scratch, const RunControl& control),               \
                    (rows, problem, options, random, scratch, control)) {                             \
        descend<lanes, loss, has_dense>(rows, problem, options, random, scratch, control);            \
    }
POLYSEME_DESCENT(squared_hinge_2, 2, Loss::squared_hinge, false)
POLYSEME_DESCENT(squared_hinge_8, 8, Loss::squared_hinge, false)
POLYSEME_DESCENT(squared_hinge_16, 16, Loss::squared_hinge, false)
POLYSEME_DESCENT(logistic_2, 2, Loss::logistic, false)
POLYSEME_DESCENT(logistic_8, 8, Loss::logistic, false)
POLYSEME_DESCENT(logistic_16, 16, Loss::logistic, false)
POLYSEME_DESCENT(dense_squared_hinge_8, 8, Loss::squared_hinge, true)
POLYSEME_DESCENT(dense_squared_hinge_16, 16, Loss::squared_hinge, true)
POLYSEME_DESCENT(dense_logistic_8, 8, Loss::logistic, true)
POLYSEME_DESCENT(dense_logistic_16, 16, Loss::logistic, true)
#undef POLYSEME_DESCENT

}  // namespace clones

void solve_lanes(const LocalRows& rows, const LaneProblem& problem, const SolverOptions& options,
                 Random random, SolverScratch& scratch, const RunControl& control) {
    const bool hinge = options.loss == Loss::squared_hinge, has_dense = rows.n_dense > 0;
    const auto solve = [&] {
        switch (problem.n_lanes) {
            case 2:
                if (has_dense) break;
                return hinge ? clones::squared_hinge_2 : clones::logistic_2;
            case 8:
                if (has_dense) return hinge ? clones::dense_squared_hinge_8 : clones::dense_logistic_8;
                return hinge ? clones::squared_hinge_8 : clones::logistic_8;
            case 16:
                if (has_dense) return hinge ? clones::dense_squared_hinge_16 : clones::dense_logistic_16;
                return hinge ? clones::squared_hinge_16 : clones::logistic_16;
        }
        throw std::logic_error("lanes come in eights or sixteens, or two without dense columns");
    }();
    solve(rows, problem, options, random, scratch, control);
}

float add_dense_row(const float* row, int32_t n_columns, float* sums) {
    return clones::add_row_to_sums(row, n_columns, sums);
}

void find_large_weights(const LaneProblem& problem, int32_t n_features, float least,
                        std::vector<int32_t>& features) {
    if (problem.n_lanes == 2) return clones::find_large_of_two(problem.weights, n_features, least, features);
    clones::find_large(reinterpret_cast<const Eight*>(problem.weights), problem.n_lanes / 8, n_features,
                       least, features);
}

}  // namespace polyseme
