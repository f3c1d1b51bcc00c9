#include "slot_solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "random.hpp"
#include "simd.hpp"

namespace polyseme {

namespace {

template <int Lanes>
struct Vectors {
    typedef float Float __attribute__((vector_size(Lanes * 4)));
    typedef int32_t Int __attribute__((vector_size(Lanes * 4)));
    typedef int8_t Byte __attribute__((vector_size(Lanes)));
};

template <class Vector>
POLYSEME_INLINE bool any_set(const Vector& mask) {
    uint64_t words[sizeof(Vector) / 8];
    std::memcpy(words, &mask, sizeof(Vector));
    uint64_t all = 0;
    for (const uint64_t word : words) all |= word;
    return all != 0;
}

template <class Float>
POLYSEME_INLINE Float larger(const Float& a, const Float& b) {
    return a > b ? a : b;
}
template <class Float>
POLYSEME_INLINE Float smaller(const Float& a, const Float& b) {
    return a < b ? a : b;
}

constexpr float infinity = std::numeric_limits<float>::infinity();

// The new dual of one row and lane under the logistic loss: a few Newton steps on the
// one-variable problem, as in Yu, Huang and Lin (2011).
inline float logistic_dual(float dual, float margin, float squared_norm, float cost) {
    const double a = squared_norm, b = margin, c = cost;
    // Work with whichever of dual and cost - dual is the smaller, to keep the logarithms exact.
    const bool flipped = a * (0.5 * c - dual) + b < 0;
    const double start = flipped ? c - dual : dual;
    const double sign = flipped ? -1 : 1;
    double z = start;
    if (c - z < 0.5 * c) z *= 0.1;
    for (int step = 0; step < 100; ++step) {
        const double gradient = a * (z - start) + sign * b + std::log(z / (c - z));
        if (std::fabs(gradient) < 1e-6) break;
        const double curvature = a + c / ((c - z) * z);
        const double moved = z - gradient / curvature;
        z = moved <= 0 ? z * 0.1 : std::min(moved, c * (1 - 1e-12));
    }
    return static_cast<float>(flipped ? c - z : z);
}

template <int Lanes, Loss loss>
POLYSEME_INLINE void descend(const LocalRows& rows, const LaneProblem& problem,
                             const SolverOptions& options, uint64_t seed, SolverScratch& scratch,
                             const RunControl& control) {
    using Float = typename Vectors<Lanes>::Float;
    using Int = typename Vectors<Lanes>::Int;
    using Byte = typename Vectors<Lanes>::Byte;

    const int32_t n_rows = rows.n_rows();
    const LocalRows::Entry* const entries = rows.entries.data();
    auto* const weights = reinterpret_cast<Float*>(problem.weights);
    auto* const duals = reinterpret_cast<Float*>(problem.duals);
    auto* const targets = reinterpret_cast<const Byte*>(problem.targets);
    const Float zero = {};
    const Float one = zero + 1.f;
    const float bias = options.bias;
    // The squared hinge loss adds a constant to the diagonal of the dual problem.
    const float diagonal = loss == Loss::squared_hinge ? 0.5f / options.cost : 0.f;

    Float bias_weights = zero;
    for (int32_t f = 0; f < rows.n_features; ++f) weights[f] = zero;
    for (int32_t i = 0; i < n_rows; ++i) {
        const Float target = __builtin_convertvector(targets[i], Float);
        if constexpr (loss == Loss::logistic) {
            // Duals of the logistic loss lie strictly inside (0, cost).
            const Float low = zero + std::min(1e-3f * options.cost, 1e-8f);
            const Float high = zero + options.cost * (1 - 1e-6f);
            duals[i] = smaller(larger(duals[i], low), high);
        }
        const Float step = duals[i] * target;
        if (!any_set(step != zero)) continue;
        for (int64_t e = rows.starts[i]; e < rows.starts[i + 1]; ++e)
            weights[entries[e].feature] += step * entries[e].value;
        bias_weights += step * bias;
    }

    auto& active = scratch.active;
    active.resize(n_rows);
    std::iota(active.begin(), active.end(), 0);
    int32_t n_active = n_rows;
    Random random(seed);

    Int running = zero == zero;            // lanes that have not converged; all bits set
    Int unverified = zero != zero;         // lanes that converged while some rows rested
    Float shrink_above = zero + infinity;  // a row at zero with a larger gradient rests
    for (int pass = 0; pass < options.max_iter; ++pass) {
        const bool all_rows = n_active == n_rows;
        shuffle(active.data(), n_active, random);
        Float highest = zero - infinity, lowest = zero + infinity;
        for (int32_t s = 0; s < n_active; ++s) {
            if ((s & 255) == 0) control.throw_if_stopped();
            const int32_t i = active[s];
            const LocalRows::Entry* const begin = entries + rows.starts[i];
            const LocalRows::Entry* const end = entries + rows.starts[i + 1];

            Float sum0 = bias_weights * bias, sum1 = zero, sum2 = zero, sum3 = zero;
            const LocalRows::Entry* e = begin;
            for (; e + 4 <= end; e += 4) {
                sum0 += weights[e[0].feature] * e[0].value;
                sum1 += weights[e[1].feature] * e[1].value;
                sum2 += weights[e[2].feature] * e[2].value;
                sum3 += weights[e[3].feature] * e[3].value;
            }
            for (; e < end; ++e) sum0 += weights[e->feature] * e->value;

            const Float target = __builtin_convertvector(targets[i], Float);
            const Float margin = target * ((sum0 + sum1) + (sum2 + sum3));
            const Int counts = running & (target != zero);
            const Float dual = duals[i];
            const float squared_norm = rows.squared_norms[i] + bias * bias;

            Float updated, projected;
            Int resting;
            if constexpr (loss == Loss::squared_hinge) {
                const Float gradient = margin - one + dual * diagonal;
                projected = dual > zero ? gradient : smaller(gradient, zero);
                updated = larger(dual - gradient / (squared_norm + diagonal), zero);
                resting = (dual <= zero) & (gradient > shrink_above);
            } else {
                projected = zero;
                updated = dual;
                resting = zero != zero;
                for (int lane = 0; lane < Lanes; ++lane) {
                    if (counts[lane] == 0) continue;
                    const float z = dual[lane];
                    projected[lane] = margin[lane] + std::log(z / (options.cost - z));
                    updated[lane] = logistic_dual(z, margin[lane], squared_norm, options.cost);
                }
            }
            projected = counts ? projected : zero;
            highest = larger(highest, projected);
            lowest = smaller(lowest, projected);
            if (!any_set(counts & ~resting)) {
                std::swap(active[s--], active[--n_active]);
                continue;
            }
            const Float moved = counts ? updated - dual : zero;
            if (!any_set((moved > zero + 1e-12f) | (moved < zero - 1e-12f))) continue;
            duals[i] = dual + moved;
            const Float step = moved * target;
            for (e = begin; e < end; ++e) weights[e->feature] += step * e->value;
            bias_weights += step * bias;
        }

        const Int converged = running & (highest - lowest <= zero + options.tolerance);
        running &= ~converged;
        if (!all_rows) unverified |= converged;
        shrink_above = highest > zero ? highest : zero + infinity;
        if (any_set(running)) continue;
        if (!any_set(unverified)) break;
        // Wake the resting rows and look once more.
        running = unverified;
        unverified = zero != zero;
        n_active = n_rows;
        shrink_above = zero + infinity;
    }
    std::memcpy(problem.bias_weights, &bias_weights, sizeof(Float));
}

#define POLYSEME_DESCENT(name, lanes, loss)                                                     \
    POLYSEME_CLONES void name(const LocalRows& rows, const LaneProblem& problem,                \
                              const SolverOptions& options, uint64_t seed,                      \
                              SolverScratch& scratch, const RunControl& control) {              \
        descend<lanes, loss>(rows, problem, options, seed, scratch, control);                   \
    }
POLYSEME_DESCENT(squared_hinge_8, 8, Loss::squared_hinge)
POLYSEME_DESCENT(squared_hinge_16, 16, Loss::squared_hinge)
POLYSEME_DESCENT(logistic_8, 8, Loss::logistic)
POLYSEME_DESCENT(logistic_16, 16, Loss::logistic)
#undef POLYSEME_DESCENT

}  // namespace

void solve_lanes(const LocalRows& rows, const LaneProblem& problem, const SolverOptions& options,
                 uint64_t seed, SolverScratch& scratch, const RunControl& control) {
    const bool wide = problem.n_lanes == 16;
    if (!wide && problem.n_lanes != 8) throw std::logic_error("lanes come in eights or sixteens");
    const auto solve = options.loss == Loss::squared_hinge
                           ? (wide ? squared_hinge_16 : squared_hinge_8)
                           : (wide ? logistic_16 : logistic_8);
    solve(rows, problem, options, seed, scratch, control);
}

}  // namespace polyseme
