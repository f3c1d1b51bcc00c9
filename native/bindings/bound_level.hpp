// A trained level with the arrays that it looks into, as Python holds it.
#pragma once

#include <memory>

#include "linear_level.hpp"
#include "sparse_arguments.hpp"

namespace polyseme::bindings {

// Keeps the arrays alive that a level looks into.
struct BoundLevel {
    std::vector<nb::object> arrays;
    std::unique_ptr<LinearLevel> level;
};

inline Activation activation_of(const std::string& name) {
    if (name == "l3-hinge") return Activation::l3_hinge;
    if (name == "l2-hinge") return Activation::l2_hinge;
    if (name == "sigmoid") return Activation::sigmoid;
    if (name == "none") return Activation::none;
    throw std::invalid_argument("activation must be 'l3-hinge', 'l2-hinge', 'sigmoid' or 'none', not '" +
                                name + "'");
}

inline void require_starts(const In<int64_t>& starts, int64_t last, const char* message) {
    require(starts.size() > 0 && starts.data()[0] == 0, message);
    for (size_t i = 1; i < starts.size(); ++i) require(starts.data()[i - 1] <= starts.data()[i], message);
    require(starts.data()[starts.size() - 1] == last, message);
}

}  // namespace polyseme::bindings
