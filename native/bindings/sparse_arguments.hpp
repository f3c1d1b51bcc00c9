// SparsePattern, SparseRows and Documents of polyseme.inputs as one argument each. Their arrays are read
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

// Features that are sparse, dense, or both; texts are of no use here.
struct Documents {
    std::optional<Rows> sparse;
    std::optional<Block> dense;
    std::vector<int64_t> no_entries;  // the starts of rows that are dense alone

    DocumentsView view(const char* name) const {
        DocumentsView documents;
        if (sparse) {
            documents.sparse = sparse->view(name);
        } else {
            documents.sparse.n_rows = static_cast<int64_t>(dense->shape(0));
            documents.sparse.starts = no_entries.data();
        }
        if (dense) {
            if (static_cast<int64_t>(dense->shape(0)) != documents.sparse.n_rows)
                throw std::invalid_argument(std::string(name) + ": sparse and dense features differ in rows");
            documents.dense = dense->data();
            documents.n_dense = static_cast<int64_t>(dense->shape(1));
        }
        if (documents.n_features() > INT32_MAX)
            throw std::invalid_argument(std::string(name) + " has too many features");
        return documents;
    }
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
// Sparse rows are documents too.
inline bool read(nb::handle object, Documents& documents) noexcept {
    Rows rows;
    if (read(object, rows)) {
        documents.sparse = std::move(rows);
        return true;
    }
    const auto sparse = nb::getattr(object, "sparse", nb::none());
    const auto dense = nb::getattr(object, "dense", nb::none());
    if (!sparse.is_none()) {
        if (!read(sparse, rows)) return false;
        documents.sparse = std::move(rows);
    }
    if (!dense.is_none()) {
        Block block;
        if (!nb::try_cast(dense, block, false)) return false;
        if (!documents.sparse) documents.no_entries.assign(block.shape(0) + 1, 0);
        documents.dense = std::move(block);
    }
    return documents.sparse || documents.dense;
}

}  // namespace polyseme::bindings

namespace nanobind::detail {

#define POLYSEME_ARGUMENT(Type, python_name)                              \
    template <>                                                           \
    struct type_caster<polyseme::bindings::Type> {                        \
        NB_TYPE_CASTER(polyseme::bindings::Type, const_name(python_name)) \
        template <class Flags>                                            \
        bool from_python(handle source, Flags, cleanup_list*) noexcept {  \
            return polyseme::bindings::read(source, value);               \
        }                                                                 \
    };
POLYSEME_ARGUMENT(Pattern, "SparsePattern")
POLYSEME_ARGUMENT(Rows, "SparseRows")
POLYSEME_ARGUMENT(Documents, "Documents | SparseRows")
#undef POLYSEME_ARGUMENT

}  // namespace nanobind::detail
