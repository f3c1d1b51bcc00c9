// Vector code without -march=native: compiler vector types, and one clone of a hot function for
// each generation of processors, chosen when the library is loaded.
#pragma once

#include <cstdint>
#include <cstring>

// The levels of x86-64 are chosen by what the processor can do. (A processor's name, such as
// "arch=haswell", would match that very model only, and leave later ones with the default.)
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(POLYSEME_NO_CLONES) && \
    ((defined(__clang__) && __clang_major__ >= 17) || (!defined(__clang__) && __GNUC__ >= 12))
#define POLYSEME_HAS_CLONES
// They live in namespace polyseme::clones, since clang cannot link those of a nameless one.
#define POLYSEME_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define POLYSEME_CLONES
#endif

// Helpers must be inlined into a clone to be compiled for its processor.
#define POLYSEME_ALWAYS_INLINE __attribute__((always_inline))
#define POLYSEME_INLINE inline POLYSEME_ALWAYS_INLINE
