#include <numeric>
#include <vector>

#include "check.hpp"
#include "processor.hpp"
#include "random.hpp"
#include "row_products.hpp"

using namespace polyseme;

namespace {

// Products of whole numbers, which are exact with fused additions and without.
std::vector<float> products_at(int level) {
    constexpr int64_t n_rows = 50, n_columns = 30, width = 77;
    Random random(7);
    const auto numbers = [&](int64_t n) {
        std::vector<float> values(n);
        for (float& value : values) value = float(random.below(201)) - 100;
        return values;
    };
    const std::vector<float> dense = numbers(n_rows * n_columns), matrix = numbers(n_columns * width);
    const std::vector<int64_t> starts(n_rows + 1, 0);
    DocumentsView documents;
    documents.sparse.n_rows = n_rows;
    documents.sparse.starts = starts.data();
    documents.dense = dense.data();
    documents.n_dense = n_columns;
    std::vector<float> products(n_rows * width);
    RunControl control;
    const Processor own = processor;
    processor.level = level;
    multiply_rows(documents, matrix.data(), width, products.data(), 1, control);
    processor = own;
    return products;
}

}  // namespace

#if defined(__x86_64__) && defined(__GLIBC__)  // other compilers' libraries do not all say it
TEST("what the processor says of itself is what the compiler's library says of it") {
    __builtin_cpu_init();
    const bool level_3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool level_4 = level_3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                         __builtin_cpu_supports("avx512vl");
    const Processor asked = ask_processor();
    CHECK(asked.level == (level_4 ? 4 : level_3 ? 3 : 1));
    CHECK(asked.has_vbmi2 == (level_4 && __builtin_cpu_supports("avx512vbmi2")));
    CHECK(asked.has_vnni == (level_4 && __builtin_cpu_supports("avx512vnni")));
}
#endif

TEST("clones for every level that the processor has find the same products") {
    const std::vector<float> plain = products_at(1);
    CHECK(std::accumulate(plain.begin(), plain.end(), 0.0) != 0);
    for (int level = 3; level <= ask_processor().level; ++level) CHECK(products_at(level) == plain);
}
