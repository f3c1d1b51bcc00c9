// SparsePattern and SparseRows of polyseme.inputs as one argument each. Their arrays are read
// where they are, and kept alive for the call.
#pragma once

#include "arrays.hpp"

namespace polyseme::bindings {

// A view checks the structure once at the border; kernels trust it afterwards.
struct Pattern {
    In<int64_t> starts;
    In<int32_t> columns;
    int64_t n_columns = 0;

    PatternView view(const char* name) const { return pattern_view(starts, columns, n_columns, name); }
};

struct Rows : Pattern {
    In<float> values;

    MatrixView view(const char* name) const { return matrix_view(starts, columns, values, n_columns, name); }
};

struct Documents {
    Rows sparse;

    DocumentsView view(const char* name) const { return {sparse.view(name)}; }
};

// Arrays must be contiguous and of the very type: nothing is converted.
template <class T>
bool read_attribute(nb::handle object, const char* name, T& value) noexcept {
    return nb::try_cast(nb::getattr(object, name, nb::none()), value, false);
}

inline bool read(nb::handle object, Pattern& pattern) noexcept {
    return read_attribute(object, "starts", pattern.starts) &&
           read_attribute(object, "columns", pattern.columns) &&
           read_attribute(object, "n_columns", pattern.n_columns);
}
inline bool read(nb::handle object, Rows& rows) noexcept {
    return read(object, static_cast<Pattern&>(rows)) && read_attribute(object, "values", rows.values);
}
inline bool read(nb::handle object, Documents& documents) noexcept { return read(object, documents.sparse); }

}  // namespace polyseme::bindings

namespace nanobind::detail {

#define POLYSEME_ARGUMENT(Type, python_name)                                      \
    template <>                                                                   \
    struct type_caster<polyseme::bindings::Type> {                                \
        NB_TYPE_CASTER(polyseme::bindings::Type, const_name(python_name))         \
        template <class Flags>                                                    \
        bool from_python(handle source, Flags, cleanup_list*) noexcept {          \
            return polyseme::bindings::read(source, value);                       \
        }                                                                         \
    };
POLYSEME_ARGUMENT(Pattern, "SparsePattern")
POLYSEME_ARGUMENT(Rows, "SparseRows")
POLYSEME_ARGUMENT(Documents, "SparseRows")
#undef POLYSEME_ARGUMENT

}  // namespace nanobind::detail
