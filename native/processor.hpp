// What the processor can do. We ask it ourselves: what compilers offer for that (__builtin_cpu_supports)
// is missing where clang links with Microsoft's libraries.
#pragma once

namespace polyseme {

struct Processor {
    int level = 1;  // of x86-64: 1 is any, 3 has AVX2 and FMA, 4 has AVX-512; 1 on other machines
    bool has_vbmi2 = false, has_vnni = false;  // with level 4 only
};

Processor ask_processor();

// Asked once, when the library is loaded; tests lower it.
inline Processor processor = ask_processor();

}  // namespace polyseme
