// What this processor and its memory can do at most, for benchmarks/roofline.py. Built when needed,
// for this machine, as a shared library with C names; each function runs on the calling thread.
#include <chrono>
#include <cstdint>

namespace {

typedef float Lanes __attribute__((vector_size(64)));
typedef uint64_t Words __attribute__((vector_size(64)));

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Keeps what was computed, so that the compiler cannot leave it out.
template <class T>
void keep(T& value) {
    asm volatile("" : "+m"(value) : : "memory");
}

}  // namespace

extern "C" {

// Bytes a second of reading a buffer from its start to its end, again and again.
double sequential_read(const uint64_t* buffer, int64_t n_bytes, double seconds) {
    const auto* words = reinterpret_cast<const Words*>(buffer);
    const int64_t n = n_bytes / 64;
    int64_t n_passes = 0;
    const double start = now();
    do {
        Words a{}, b{}, c{}, d{};
        for (int64_t i = 0; i + 4 <= n; i += 4) {
            a ^= words[i];
            b ^= words[i + 1];
            c ^= words[i + 2];
            d ^= words[i + 3];
        }
        a ^= b ^ c ^ d;
        keep(a);
        ++n_passes;
    } while (now() - start < seconds);
    return double(n_passes) * double(n) * 64 / (now() - start);
}

// Reads a second of cache lines in random order, each found only by the one before it in its chain:
// `lines` holds at the start of each line the number of the next. One chain shows the latency,
// many chains what overlaps.
double random_read(const uint64_t* lines, int64_t n_lines, int n_chains, double seconds) {
    uint64_t at[64];
    for (int c = 0; c < n_chains; ++c) at[c] = uint64_t(n_lines / n_chains) * uint64_t(c);
    int64_t n_reads = 0;
    const double start = now();
    do {
        for (int step = 0; step < 4096; ++step)
            for (int c = 0; c < n_chains; ++c) at[c] = lines[at[c] * 8];
        n_reads += int64_t{4096} * n_chains;
    } while (now() - start < seconds);
    keep(at);
    return double(n_reads) / (now() - start);
}

// Floating-point operations a second of multiply-and-add on vectors, all in registers.
double multiply_add(double seconds) {
    Lanes sums[12];
    for (int i = 0; i < 12; ++i) sums[i] = Lanes{} + float(i);
    Lanes factor = Lanes{} + 0.999999f, term = Lanes{} + 1e-6f;
    keep(factor);
    keep(term);
    int64_t n_rounds = 0;
    const double start = now();
    do {
        for (int step = 0; step < 4096; ++step)
            for (int i = 0; i < 12; ++i) sums[i] = sums[i] * factor + term;
        n_rounds += 4096;
    } while (now() - start < seconds);
    keep(sums);
    return double(n_rounds) * 12 * 16 * 2 / (now() - start);
}

}  // extern "C"
