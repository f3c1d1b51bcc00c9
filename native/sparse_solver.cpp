#include "sparse_solver.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

namespace polyseme {

LocalColumns::LocalColumns(const DocumentsView& all, std::span<const int32_t> own, float constant)
    : documents(all), rows(own), bias(constant) {
    // Sparse features in the order of their numbers, so that entries can be placed by counting.
    std::vector<int32_t> local(documents.sparse.n_cols, 0);
    for (const int32_t document : rows)
        for (const int32_t feature : documents.sparse.row(document)) ++local[feature];
    starts.push_back(0);
    for (int64_t f = 0; f < documents.sparse.n_cols; ++f) {
        const int32_t n_having = local[f];
        if (n_having == 0) continue;
        local[f] = static_cast<int32_t>(features.size());
        features.push_back(static_cast<int32_t>(f));
        starts.push_back(starts.back() + n_having);
    }
    n_sparse = n_columns();
    const auto n_rows = static_cast<int64_t>(rows.size());
    for (int64_t j = 0; j < documents.n_dense + (has_bias() ? 1 : 0); ++j) {
        const bool is_dense = j < documents.n_dense;
        features.push_back(is_dense ? static_cast<int32_t>(documents.sparse.n_cols + j) : -1);
        starts.push_back(starts.back() + n_rows);
    }
    entries.resize(starts.back());
    std::vector<int64_t> write_at(starts.begin(), starts.end() - 1);
    largest_value.assign(rows.size(), 0);
    for (int32_t i = 0; i < n_rows; ++i) {
        const auto place = [&](int32_t column, float value) { entries[write_at[column]++] = {i, value}; };
        const auto row = documents.sparse.row(rows[i]);
        const auto values = documents.sparse.row_values(rows[i]);
        float& largest = largest_value[i];
        for (size_t e = 0; e < row.size(); ++e) {
            place(local[row[e]], values[e]);
            largest = std::max(largest, std::fabs(values[e]));
        }
        for (int64_t j = 0; j < documents.n_dense; ++j) {
            const float value = documents.dense_row(rows[i])[j];
            place(n_sparse + static_cast<int32_t>(j), value);
            largest = std::max(largest, std::fabs(value));
        }
        if (has_bias()) place(n_columns() - 1, bias);
    }
    sums.assign(n_columns(), 0);
    for (int32_t c = 0; c < n_columns(); ++c)
        for (const auto& entry : column(c)) sums[c] += entry.value;
}

SparseSolver::SparseSolver(const LocalColumns& columns, const RunControl& control)
    : columns_(columns), control_(control), states_(columns.rows.size()),
      gradients_(columns.documents.n_features()) {}

namespace {

constexpr int most_halvings = 10;  // of a step that went too far
constexpr int most_steps = 4;      // along one column, until it is left alone for this pass
constexpr int fewest_added = 64;   // columns that may become active at a time
constexpr size_t most_leaping = 3000;
constexpr int most_leap_passes = 100;
constexpr float near_margin = 1e-3f;  // a row this far beyond its margin counts for a leap
constexpr float rests_below = 0.8f;   // a column without weight whose gradient is smaller is left out

double newton_step(double weight, double gradient, double curvature) {
    curvature = std::max(curvature, 1e-12);
    double step = -weight;
    if (gradient + 1 <= curvature * weight) step = -(gradient + 1) / curvature;
    else if (gradient - 1 >= curvature * weight) step = -(gradient - 1) / curvature;
    return step;
}

}  // namespace

void SparseSolver::begin(std::span<const float> pulls, bool goes_on) {
    if (!goes_on) {
        weights_.assign(columns_.n_columns(), 0);
        // Where every margin is -1 negatives have no loss, and most of them keep none.
        if (columns_.has_bias()) weights_.back() = -1 / columns_.bias;
    }
    for (size_t i = 0; i < states_.size(); ++i) states_[i] = {std::fabs(pulls[i]), pulls[i]};
    for (int32_t c = 0; c < columns_.n_columns(); ++c) {
        if (weights_[c] == 0) continue;
        for (const auto& [row, value] : columns_.column(c))
            states_[row].slack -= states_[row].pull * (value * weights_[c]);
    }
}

SparseSolver::Slope SparseSolver::slope(int32_t column) const {
    double gradient = 0, curvature = 0;
    for (const auto& [row, value] : columns_.column(column)) {
        const RowState state = states_[row];
        const float by = state.pull * value;
        const float missing = std::max(state.slack, 0.f);
        gradient -= by * missing;
        curvature += missing > 0 ? by * by : 0.f;
    }
    return {2 * cost_ * gradient, 2 * cost_ * curvature, 0};
}

SparseSolver::Slope SparseSolver::move(int32_t column, float step) {
    double gradient = 0, curvature = 0, change = 0;
    for (const auto& [row, value] : columns_.column(column)) {
        RowState& state = states_[row];
        const float by = state.pull * value;
        const float before = std::max(state.slack, 0.f);
        state.slack -= by * step;
        const float missing = std::max(state.slack, 0.f);
        gradient -= by * missing;
        curvature += missing > 0 ? by * by : 0.f;
        change += (missing - before) * (missing + before);
    }
    return {2 * cost_ * gradient, 2 * cost_ * curvature, cost_ * change};
}

// By how much the best slope that the magnitude allows differs from 0.
double SparseSolver::violation(int32_t column, double gradient) const {
    const float weight = weights_[column];
    if (weight > 0) return std::fabs(gradient + 1);
    if (weight < 0) return std::fabs(gradient - 1);
    return std::max(0.0, std::fabs(gradient) - 1);
}

// Of the constant: twice what the best step gains. Its slope alone would never be small enough, since
// most negatives are just at their margin, and any step of the constant is one of all of them.
double SparseSolver::constant_violation(const Slope& at) const {
    const double wrong = violation(columns_.n_columns() - 1, at.gradient);
    return wrong * std::min(1.0, wrong / std::max(at.curvature, 1e-12));
}

// Makes one weight better, and returns by how much it was wrong; below 0 if it can be left out.
double SparseSolver::improve(int32_t column, Slope at) {
    float& weight = weights_[column];
    const double wrong = violation(column, at.gradient);
    if (weight == 0 && std::fabs(at.gradient) < rests_below) return -1;
    if (wrong < 0.3 * tolerance_) return wrong;
    for (int n = 0; n < most_steps; ++n) {
        auto step = static_cast<float>(newton_step(weight, at.gradient, at.curvature));
        if (step == 0 || !std::isfinite(step)) break;
        Slope next = move(column, step);
        double change = next.change;
        for (int halved = 0; halved < most_halvings; ++halved) {
            const double magnitudes = std::fabs(weight + step) - std::fabs(weight);
            if (magnitudes + change <= 0.01 * (at.gradient * step + magnitudes)) break;
            step /= 2;
            next = move(column, -step);
            change += next.change;
        }
        weight += step;
        at = next;
        if (violation(column, at.gradient) < 0.3 * wrong) break;
    }
    return wrong;
}

// Computes the gradients of all columns by rows: most rows are negatives that no weight has reached,
// whose part is the sum of a column. Rows that differ from them too little to matter are left out.
void SparseSolver::compute_gradients(double allowed_error) {
    const float margin = columns_.has_bias() ? columns_.bias * weights_.back() : 0;
    const auto coefficient_of = [&](const RowState& state) {
        return static_cast<float>(-2 * cost_) * state.pull * std::max(state.slack, 0.f);
    };
    const float usual = coefficient_of({1 + margin, -1});
    std::array<double, 256> by_exponent{};
    const auto exponent_of = [](float value) { return (std::bit_cast<uint32_t>(value) >> 23) & 255; };
    for (size_t i = 0; i < states_.size(); ++i) {
        const float apart = coefficient_of(states_[i]) - usual;
        by_exponent[exponent_of(apart)] += std::fabs(apart) * columns_.largest_value[i];
    }
    uint32_t least = 0;
    for (double error = by_exponent[0]; error <= allowed_error && least < 255;) error += by_exponent[++least];
    std::fill(gradients_.begin(), gradients_.end(), 0.f);
    const int64_t n_sparse = columns_.documents.sparse.n_cols, n_dense = columns_.documents.n_dense;
    for (size_t i = 0; i < states_.size(); ++i) {
        const float apart = coefficient_of(states_[i]) - usual;
        if (apart == 0 || exponent_of(apart) < least) continue;
        const int32_t document = columns_.rows[i];
        const auto row = columns_.documents.sparse.row(document);
        const auto values = columns_.documents.sparse.row_values(document);
        for (size_t e = 0; e < row.size(); ++e) gradients_[row[e]] += apart * values[e];
        if (n_dense == 0) continue;
        const auto dense = columns_.documents.dense_row(document);
        for (int64_t j = 0; j < n_dense; ++j) gradients_[n_sparse + j] += apart * dense[j];
    }
    for (int32_t c = 0; c < columns_.n_columns(); ++c)
        if (columns_.features[c] >= 0) gradients_[columns_.features[c]] += usual * columns_.sums[c];
}

// Takes the columns with weights and those that want one most. Returns how wrong the worst is.
double SparseSolver::choose_active() {
    active_.clear();
    wanted_.clear();
    double worst = columns_.has_bias() ? constant_violation(slope(columns_.n_columns() - 1)) : 0;
    for (int32_t c = 0; c < columns_.n_columns(); ++c) {
        if (columns_.features[c] < 0) continue;  // the constant has a turn in every pass
        const float gradient = gradients_[columns_.features[c]];
        worst = std::max(worst, violation(c, gradient));
        if (weights_[c] != 0) active_.push_back(c);
        else if (std::fabs(gradient) > 1) wanted_.push_back(std::fabs(gradient));
    }
    const size_t n_added = std::max<size_t>(fewest_added, active_.size());
    float least = 1;
    if (wanted_.size() > n_added) {
        std::nth_element(wanted_.begin(), wanted_.begin() + n_added, wanted_.end(), std::greater<>());
        least = wanted_[n_added];
    }
    for (int32_t c = 0; c < columns_.n_columns(); ++c) {
        if (columns_.features[c] < 0 || weights_[c] != 0) continue;
        if (std::fabs(gradients_[columns_.features[c]]) > least) active_.push_back(c);
    }
    return worst;
}

// Moves all active columns at once, as is best while the same rows miss their margin, or part of that way.
void SparseSolver::leap() {
    leaping_ = active_;
    if (columns_.has_bias()) leaping_.push_back(columns_.n_columns() - 1);
    const size_t n = leaping_.size();
    if (n < 2 || n > most_leaping) return;

    const auto is_near = [&](int32_t row) { return states_[row].slack > -near_margin; };
    row_starts_.assign(states_.size() + 1, 0);
    for (const int32_t column : leaping_)
        for (const auto& [row, value] : columns_.column(column)) row_starts_[row + 1] += is_near(row);
    std::partial_sum(row_starts_.begin(), row_starts_.end(), row_starts_.begin());
    parts_.resize(row_starts_.back());
    for (size_t place = n; place-- > 0;)  // from the last, so that starts are starts again
        for (const auto& [row, value] : columns_.column(leaping_[place]))
            if (is_near(row))
                parts_[--row_starts_[row + 1]] = {static_cast<int32_t>(place), states_[row].pull * value};
    // Each start was moved down to where its row begins: that of row i is now at i + 1.
    products_.assign(n * n, 0);
    slopes_.assign(n, 0);
    for (size_t row = 0; row < states_.size(); ++row) {
        control_.throw_if_stopped();
        const int64_t end = row + 1 < states_.size() ? row_starts_[row + 2] : std::ssize(parts_);
        const float missing = std::max(states_[row].slack, 0.f);
        for (int64_t p = row_starts_[row + 1]; p < end; ++p) {
            const auto [place, by] = parts_[p];
            slopes_[place] -= by * missing;
            float* const with = products_.data() + place * n;
            for (int64_t q = row_starts_[row + 1]; q <= p; ++q) with[parts_[q].place] += by * parts_[q].by;
        }
    }
    const double scale = 2 * cost_;
    for (size_t a = 0; a < n; ++a) {
        slopes_[a] *= scale;
        for (size_t b = 0; b <= a; ++b)
            products_[b * n + a] = products_[a * n + b] = static_cast<float>(scale * products_[a * n + b]);
    }

    steps_.assign(n, 0);
    double first_gain = 0;
    for (int pass = 0; pass < most_leap_passes; ++pass) {
        double gain = 0;
        control_.throw_if_stopped();
        for (size_t a = 0; a < n; ++a) {
            const float* const with = products_.data() + a * n;
            const double step = newton_step(weights_[leaping_[a]] + steps_[a], slopes_[a], with[a]);
            if (step == 0) continue;
            steps_[a] += step;
            for (size_t b = 0; b < n; ++b) slopes_[b] += step * with[b];
            gain = std::max(gain, step * step * with[a]);
        }
        if (pass == 0) first_gain = gain;
        if (gain <= 1e-6 * first_gain) break;
    }

    row_changes_.assign(states_.size(), 0);
    for (size_t a = 0; a < n; ++a) {
        if (steps_[a] == 0) continue;
        for (const auto& [row, value] : columns_.column(leaping_[a]))
            row_changes_[row] += states_[row].pull * value * static_cast<float>(steps_[a]);
    }
    const double before = loss_and_magnitudes(0);
    double share = 1;
    while (share > 1e-3 && !(loss_and_magnitudes(share) < before)) share /= 2;
    if (share <= 1e-3) return;
    for (size_t i = 0; i < states_.size(); ++i)
        states_[i].slack -= static_cast<float>(share) * row_changes_[i];
    for (size_t a = 0; a < n; ++a) {
        float& weight = weights_[leaping_[a]];
        weight = share == 1 && steps_[a] == -weight ? 0 : weight + static_cast<float>(share * steps_[a]);
    }
}

double SparseSolver::loss_and_magnitudes(double share) const {
    double loss = 0, magnitudes = 0;
    for (size_t i = 0; i < states_.size(); ++i) {
        const float missing = std::max(states_[i].slack - static_cast<float>(share) * row_changes_[i], 0.f);
        loss += missing * missing;
    }
    for (size_t a = 0; a < leaping_.size(); ++a)
        magnitudes += std::fabs(weights_[leaping_[a]] + share * steps_[a]);
    return cost_ * loss + magnitudes;
}

// Passes over the active columns, one at least, until none is wrong by more.
void SparseSolver::descend(double until, Random& random, int& n_passes_left) {
    const int32_t constant = columns_.n_columns() - 1;
    double worst = 0;
    do {
        --n_passes_left;
        worst = 0;
        if (columns_.has_bias()) {
            const Slope at = slope(constant);
            worst = constant_violation(at);
            improve(constant, at);
        }
        shuffle(active_.data(), std::ssize(active_), random);
        size_t n_left = 0;
        for (const int32_t column : active_) {
            control_.throw_if_stopped();
            const double wrong = improve(column, slope(column));
            if (wrong >= 0) active_[n_left++] = column;
            worst = std::max(worst, wrong);
        }
        active_.resize(n_left);
        if (worst > until) leap();
    } while (worst > until && n_passes_left > 0);
}

void SparseSolver::solve(std::span<const float> pulls, const SolverOptions& options, Random random,
                         bool goes_on) {
    cost_ = options.cost;
    tolerance_ = options.tolerance;
    begin(pulls, goes_on);
    const int32_t constant = columns_.n_columns() - 1;
    if (columns_.has_bias()) improve(constant, slope(constant));
    for (int n_passes_left = options.max_iter; n_passes_left > 0;) {
        compute_gradients(0.3 * options.tolerance);
        const double worst = choose_active();
        if (!(worst > 1.3 * options.tolerance)) break;
        descend(std::max<double>(options.tolerance, 0.2 * worst), random, n_passes_left);
    }
}

}  // namespace polyseme
