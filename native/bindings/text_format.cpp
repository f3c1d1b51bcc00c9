#include "text_format.hpp"

#include "arrays.hpp"

namespace polyseme::bindings {

void bind_text_format(nb::module_& m) {
    m.def(
        "parse_text",
        [](const In<uint8_t>& text, int64_t n_features, int64_t n_labels, int64_t first_line,
           int n_threads) {
            const std::string_view view(reinterpret_cast<const char*>(text.data()), text.size());
            const TextLimits limits{n_features, n_labels, first_line};
            TextRows rows = run_released(nb::none(), [&](RunControl& control) {
                return parse_text(view, limits, n_threads, control);
            });
            return nb::make_tuple(
                to_numpy(std::move(rows.feature_starts)), to_numpy(std::move(rows.features)),
                to_numpy(std::move(rows.values)), to_numpy(std::move(rows.label_starts)),
                to_numpy(std::move(rows.labels)));
        },
        nb::arg("text").noconvert(), nb::arg("n_features"), nb::arg("n_labels"),
        nb::arg("first_line"), nb::arg("n_threads"));

    m.def(
        "format_text",
        [](const In<int64_t>& feature_starts, const In<int32_t>& features, const In<float>& values,
           int64_t n_features, const In<int64_t>& label_starts, const In<int32_t>& labels,
           int64_t n_labels) {
            const auto X = matrix_view(feature_starts, features, values, n_features, "X");
            const auto Y = pattern_view(label_starts, labels, n_labels, "Y");
            require(X.n_rows == Y.n_rows, "X and Y differ in their number of rows");
            const std::string text = run_released(
                nb::none(), [&](RunControl&) { return format_text(X, Y); });
            return nb::bytes(text.data(), text.size());
        },
        nb::arg("feature_starts").noconvert(), nb::arg("features").noconvert(),
        nb::arg("values").noconvert(), nb::arg("n_features"), nb::arg("label_starts").noconvert(),
        nb::arg("labels").noconvert(), nb::arg("n_labels"));
}

}  // namespace polyseme::bindings
