#include "arrays.hpp"

NB_MODULE(_native, m) {
    // Models that live until the interpreter ends are no leak worth a page of warnings.
    nb::set_leak_warnings(false);
    m.doc() = "The native core of polyseme. Private: use the Python modules around it.";
    polyseme::bindings::bind_training(m);
    polyseme::bindings::bind_levels(m);
    polyseme::bindings::bind_prediction(m);
    polyseme::bindings::bind_assignment(m);
    polyseme::bindings::bind_text_format(m);
    polyseme::bindings::bind_senses(m);
}
