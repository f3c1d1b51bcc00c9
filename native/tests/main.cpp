#include <vector>

#include "check.hpp"
#include "processor.hpp"

using polyseme::Processor;

// This processor as it is, and as older ones that it can stand in for.
static std::vector<Processor> processors() {
    const Processor own = polyseme::ask_processor();
    std::vector<Processor> found;
    for (const int level : {1, 3, 4})
        if (level <= own.level) found.push_back({level});
    if (own.has_vbmi2 || own.has_vnni) found.push_back(own);
    return found;
}

int main() {
    for (const Processor& processor : processors()) {
        polyseme::processor = processor;
        std::printf("level %d%s%s\n", processor.level, processor.has_vbmi2 ? ", VBMI2" : "",
                    processor.has_vnni ? ", VNNI" : "");
        for (const auto& test : polyseme::tests::all_tests()) {
            std::printf("  %s\n", test.name);
            std::fflush(stdout);
            test.run();
        }
    }
    std::printf("%zu passed, 0 failed\n", polyseme::tests::all_tests().size());
}
