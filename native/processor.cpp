#include "processor.hpp"

#include <cstdint>

namespace polyseme {

#ifdef __x86_64__

namespace {

struct Registers {
    uint32_t a, b, c, d;
};

Registers cpuid(uint32_t leaf) {
    Registers r{leaf, 0, 0, 0};
    asm volatile("cpuid" : "+a"(r.a), "=b"(r.b), "+c"(r.c), "=d"(r.d));
    return r;
}

// Which registers the system keeps when it changes between threads.
uint32_t kept_registers() {
    uint32_t low, high;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

constexpr uint32_t bit(int n) { return uint32_t{1} << n; }
constexpr bool has_all(uint32_t bits, uint32_t wanted) { return (bits & wanted) == wanted; }

constexpr uint32_t fma = bit(12), movbe = bit(22), osxsave = bit(27), avx = bit(28), f16c = bit(29);
constexpr uint32_t bmi1 = bit(3), avx2 = bit(5), bmi2 = bit(8);
constexpr uint32_t avx512f = bit(16), avx512dq = bit(17), avx512cd = bit(28), avx512bw = bit(30),
                   avx512vl = bit(31);
constexpr uint32_t avx512vbmi2 = bit(6), avx512vnni = bit(11);
constexpr uint32_t lzcnt = bit(5);
constexpr uint32_t kept_avx = bit(1) | bit(2);
[[maybe_unused]] constexpr uint32_t kept_avx512 = kept_avx | bit(5) | bit(6) | bit(7);

}  // namespace

Processor ask_processor() {
    Processor found;
    if (cpuid(0).a < 7 || cpuid(0x80000000).a < 0x80000001) return found;
    if (!has_all(cpuid(1).c, fma | movbe | osxsave | avx | f16c)) return found;
    const Registers more = cpuid(7);
    const uint32_t kept = kept_registers();
    if (!has_all(more.b, bmi1 | avx2 | bmi2) || !has_all(cpuid(0x80000001).c, lzcnt) ||
        !has_all(kept, kept_avx))
        return found;
    found.level = 3;
#ifndef __APPLE__  // whose system keeps the wider registers from their first use on, and says so then
    if (!has_all(kept, kept_avx512)) return found;
#endif
    if (!has_all(more.b, avx512f | avx512dq | avx512cd | avx512bw | avx512vl)) return found;
    found.level = 4;
    found.has_vbmi2 = has_all(more.c, avx512vbmi2);
    found.has_vnni = has_all(more.c, avx512vnni);
    return found;
}

#else

Processor ask_processor() { return {}; }

#endif

}  // namespace polyseme
