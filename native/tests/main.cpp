#include "check.hpp"

int main() {
    for (const auto& test : polyseme::tests::all_tests()) {
        std::printf("  %s\n", test.name);
        std::fflush(stdout);
        test.run();
    }
    std::printf("%zu passed, 0 failed\n", polyseme::tests::all_tests().size());
}
