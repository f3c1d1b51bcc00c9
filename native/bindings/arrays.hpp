// What every binding file shares: array types in and out, checks, and the way to run a kernel.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "level_weights.hpp"
#include "parallel_for.hpp"
#include "sparse_view.hpp"

namespace nb = nanobind;

namespace polyseme::bindings {

// Read-only on purpose: memory maps and arrays from an object store must work as they are.
template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Block = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

// Hands a vector over to NumPy without copying it.
template <class T, class Allocator>
Out<T> to_numpy(std::vector<T, Allocator>&& values) {
    using Owner = std::vector<T, Allocator>;
    auto* owner = new Owner(std::move(values));
    nb::capsule capsule(owner, [](void* p) noexcept { delete static_cast<Owner*>(p); });
    return Out<T>(owner->data(), {owner->size()}, capsule);
}

// A matrix to be filled, which Python will own.
template <class T>
class NewMatrix {
  public:
    NewMatrix(int64_t n_rows, int64_t n_cols)
        : shape_{static_cast<size_t>(n_rows), static_cast<size_t>(n_cols)}, values_(new T[n_rows * n_cols]),
          owner_(values_, [](void* p) noexcept { delete[] static_cast<T*>(p); }) {}

    T* row(int64_t i) { return values_ + i * static_cast<int64_t>(shape_[1]); }
    nb::ndarray<nb::numpy, T, nb::ndim<2>> to_python() const { return {values_, 2, shape_, owner_}; }

  private:
    size_t shape_[2];
    T* values_;
    nb::capsule owner_;
};

// The arrays of a level by name.
inline nb::dict to_python(LevelWeights&& level) {
    nb::dict arrays;
    arrays["record_sizes"] = to_numpy(std::move(level.record_sizes));
    arrays["bytes"] = to_numpy(std::move(level.bytes));
    arrays["scales"] = to_numpy(std::move(level.scales));
    arrays["bias"] = to_numpy(std::move(level.bias));
    arrays["dense"] = to_numpy(std::move(level.dense));
    return arrays;
}

inline void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

// Checks a CSR structure once at the border; kernels trust it afterwards.
inline PatternView pattern_view(const In<int64_t>& starts, const In<int32_t>& columns, int64_t n_cols,
                                const char* name) {
    const std::string what(name);
    if (starts.size() == 0 || starts.data()[0] != 0)
        throw std::invalid_argument(what + ": row starts must begin with 0");
    const auto n_rows = static_cast<int64_t>(starts.size()) - 1;
    for (int64_t i = 0; i < n_rows; ++i)
        if (starts.data()[i] > starts.data()[i + 1])
            throw std::invalid_argument(what + ": row starts must not decrease");
    if (starts.data()[n_rows] != static_cast<int64_t>(columns.size()))
        throw std::invalid_argument(what + ": the last row start must equal the number of entries");
    for (size_t e = 0; e < columns.size(); ++e)
        if (columns.data()[e] < 0 || columns.data()[e] >= n_cols)
            throw std::invalid_argument(what + ": a column number is out of range");
    PatternView view;
    view.n_rows = n_rows;
    view.n_cols = n_cols;
    view.starts = starts.data();
    view.columns = columns.data();
    return view;
}

inline MatrixView matrix_view(const In<int64_t>& starts, const In<int32_t>& columns, const In<float>& values,
                              int64_t n_cols, const char* name) {
    MatrixView view;
    static_cast<PatternView&>(view) = pattern_view(starts, columns, n_cols, name);
    if (values.size() != columns.size())
        throw std::invalid_argument(std::string(name) + ": values and columns differ in length");
    view.values = values.data();
    return view;
}

// Runs a kernel without the GIL. Ctrl-C and the progress callback are looked after meanwhile.
template <class Kernel>
auto run_released(const nb::object& progress, Kernel&& kernel) {
    RunControl control([&](int64_t done) {
        nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (!progress.is_none()) progress(done);
    });
    nb::gil_scoped_release release;
    return kernel(control);
}

void bind_training(nb::module_& m);
void bind_levels(nb::module_& m);
void bind_prediction(nb::module_& m);
void bind_assignment(nb::module_& m);
void bind_text_format(nb::module_& m);
void bind_senses(nb::module_& m);

}  // namespace polyseme::bindings
