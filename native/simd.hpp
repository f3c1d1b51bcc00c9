// Vector code without -march=native: compiler vector types, and one clone of a hot function for
// each level of x86-64, of which every call takes the one that suits the processor.
#pragma once

#include <cstdint>
#include <cstring>

#include "processor.hpp"

// Helpers must be inlined into a clone to be compiled for its processor.
#define POLYSEME_ALWAYS_INLINE __attribute__((always_inline))
#define POLYSEME_INLINE inline POLYSEME_ALWAYS_INLINE

// POLYSEME_CLONES(int, twice, (int x), (x)) { return 2 * x; }
// The attribute target_clones would do the same where system and compiler have it: not on macOS, on
// Windows, nor with musl.
#if defined(__x86_64__) && !defined(POLYSEME_NO_CLONES)
#define POLYSEME_CLONES(result, name, parameters, arguments)                       \
    POLYSEME_INLINE result name##_body parameters;                                 \
    static result name##_v1 parameters { return name##_body arguments; }           \
    __attribute__((target("arch=x86-64-v3"))) static result name##_v3 parameters { \
        return name##_body arguments;                                              \
    }                                                                              \
    __attribute__((target("arch=x86-64-v4"))) static result name##_v4 parameters { \
        return name##_body arguments;                                              \
    }                                                                              \
    static result name parameters {                                                \
        if (processor.level == 4) return name##_v4 arguments;                      \
        return processor.level == 3 ? name##_v3 arguments : name##_v1 arguments;   \
    }                                                                              \
    POLYSEME_INLINE result name##_body parameters
#else
#define POLYSEME_CLONES(result, name, parameters, arguments) static result name parameters
#endif
