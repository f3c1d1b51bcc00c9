// Vector code without -march=native: compiler vector types, and one clone of a hot function for
// each generation of processors, chosen when the library is loaded.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(POLYSEME_NO_CLONES)
#define POLYSEME_CLONES \
    __attribute__((target_clones("default", "arch=haswell", "arch=skylake-avx512")))
#else
#define POLYSEME_CLONES
#endif

// Helpers must be inlined into a clone to be compiled for its processor.
#define POLYSEME_INLINE inline __attribute__((always_inline))
