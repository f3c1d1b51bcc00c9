#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.hpp"
#include "parallel_for.hpp"

using polyseme::Interrupted;
using polyseme::parallel_for;
using polyseme::RunControl;

TEST("parallel_for visits every item exactly once") {
    for (int n_threads : {1, 2, 7}) {
        std::vector<std::atomic<int>> visits(1000);
        RunControl control;
        parallel_for(1000, n_threads, control, [&](int64_t item, int) { ++visits[item]; });
        for (auto& count : visits) CHECK(count == 1);
    }
}

TEST("an exception in a worker reaches the caller as itself") {
    RunControl control;
    bool caught = false;
    try {
        parallel_for(100, 4, control, [](int64_t item, int) {
            if (item == 37) throw std::out_of_range("item 37");
        });
    } catch (const std::out_of_range& error) {
        caught = std::string(error.what()) == "item 37";
    }
    CHECK(caught);
}

TEST("the first exception stops the other workers and is the one that arrives") {
    RunControl control;
    std::atomic<bool> other_runs{false};
    std::string caught;
    try {
        parallel_for(2, 2, control, [&](int64_t item, int) {
            if (item == 0) {
                while (!other_runs) std::this_thread::yield();
                throw std::runtime_error("first");
            }
            other_runs = true;
            for (int i = 0; i < 10'000 && !control.stopped(); ++i)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            throw std::runtime_error(control.stopped() ? "second" : "nobody was stopped");
        });
    } catch (const std::runtime_error& error) {
        caught = error.what();
    }
    CHECK(caught == "first" && control.stopped());
}

TEST("an exception of the poll stops the workers and reaches the caller") {
    std::atomic<int> n_done{0};
    RunControl control([](int64_t) { throw std::runtime_error("stop"); });
    bool caught = false;
    try {
        parallel_for(1'000'000, 2, control, [&](int64_t, int) {
            ++n_done;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        });
    } catch (const std::runtime_error&) {
        caught = true;
    }
    CHECK(caught);
    CHECK(n_done < 10'000);
}

TEST("a stopped control ends the loop with Interrupted") {
    RunControl control;
    bool interrupted = false;
    try {
        parallel_for(100, 2, control, [&](int64_t item, int) {
            if (item == 3) control.stop();
        });
    } catch (const Interrupted&) {
        interrupted = true;
    }
    CHECK(interrupted);
}
