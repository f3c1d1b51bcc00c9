// A test harness of thirty lines: the core's tests must build with a compiler and nothing else.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace polyseme::tests {

struct Test {
    const char* name;
    std::function<void()> run;
};

inline std::vector<Test>& all_tests() {
    static std::vector<Test> tests;
    return tests;
}

struct Register {
    Register(const char* name, std::function<void()> run) { all_tests().push_back({name, run}); }
};

}  // namespace polyseme::tests

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TEST(name)                                                                           \
    static void JOIN(test_, __LINE__)();                                                     \
    static polyseme::tests::Register JOIN(register_, __LINE__)(name, JOIN(test_, __LINE__)); \
    static void JOIN(test_, __LINE__)()
#define CHECK(condition)                                                                   \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                                  \
        }                                                                                  \
    } while (false)
