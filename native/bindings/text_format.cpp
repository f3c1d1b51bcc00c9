#include "text_format.hpp"

#include "sparse_arguments.hpp"

namespace polyseme::bindings {

void bind_text_format(nb::module_& m) {
    m.def(
        "parse_text",
        [](const In<uint8_t>& text, int64_t n_features, int64_t n_labels, int64_t first_line, int n_threads) {
            const std::string_view view(reinterpret_cast<const char*>(text.data()), text.size());
            const TextLimits limits{n_features, n_labels, first_line};
            TextRows rows = run_released(nb::none(), [&](RunControl& control) {
                return parse_text(view, limits, n_threads, control);
            });
            return nb::make_tuple(to_numpy(std::move(rows.feature_starts)),
                                  to_numpy(std::move(rows.features)), to_numpy(std::move(rows.values)),
                                  to_numpy(std::move(rows.label_starts)), to_numpy(std::move(rows.labels)));
        },
        nb::arg("text").noconvert(), nb::arg("n_features"), nb::arg("n_labels"), nb::arg("first_line"),
        nb::arg("n_threads"));

    m.def(
        "format_text",
        [](const Rows& features, const Pattern& labels) {
            const auto X = features.view("X");
            const auto Y = labels.view("Y");
            require(X.n_rows == Y.n_rows, "X and Y differ in their number of rows");
            const std::string text = run_released(nb::none(), [&](RunControl&) { return format_text(X, Y); });
            return nb::bytes(text.data(), text.size());
        },
        nb::arg("X"), nb::arg("Y"));
}

}  // namespace polyseme::bindings
