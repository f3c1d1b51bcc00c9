// The intrinsics of x86-64, for functions that say by an attribute which of them they may use.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#if defined(_MSC_VER) && defined(__clang__) && __clang_major__ < 21
// There older ones leave out what the whole file is not compiled for.
// clang-format off: each needs those before it
#include <popcntintrin.h>
#include <bmi2intrin.h>
#include <avxintrin.h>
#include <avx2intrin.h>
#include <fmaintrin.h>
#include <avx512fintrin.h>
#include <avx512vlintrin.h>
#include <avx512bwintrin.h>
#include <avx512dqintrin.h>
#include <avx512vbmi2intrin.h>
#include <avx512vnniintrin.h>
// clang-format on
#endif
#endif
