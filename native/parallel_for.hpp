// A loop over std::thread that can be watched, stopped, and that carries exceptions.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace polyseme {

// Thrown out of a kernel that was asked to stop.
struct Interrupted : std::exception {
    const char* what() const noexcept override { return "interrupted"; }
};

// Connects a running kernel with whoever waits for it. `poll` runs on the calling thread about
// twenty times a second with the amount of work done so far; what it throws ends the run.
class RunControl {
  public:
    using Poll = std::function<void(int64_t done)>;

    explicit RunControl(Poll poll = {}) : poll_(std::move(poll)) {}

    bool stopped() const noexcept { return stopped_.load(std::memory_order_relaxed); }
    void stop() noexcept { stopped_.store(true, std::memory_order_relaxed); }
    // Kernels call this inside long items, so that a stop takes effect within a second.
    void throw_if_stopped() const {
        if (stopped()) throw Interrupted();
    }
    void advance(int64_t amount = 1) noexcept { done_.fetch_add(amount, std::memory_order_relaxed); }
    void poll() {
        if (poll_) poll_(done_.load(std::memory_order_relaxed));
    }

  private:
    Poll poll_;
    std::atomic<bool> stopped_{false};
    std::atomic<int64_t> done_{0};
};

// Calls body(item, worker) for every item in [0, n_items), handing items out in order. The first
// exception of a worker, or of the poll, is rethrown here after all workers have come home.
template <class Body>
void parallel_for(int64_t n_items, int n_threads, RunControl& control, Body&& body) {
    if (n_items <= 0) return;
    const int n_workers = static_cast<int>(std::min<int64_t>(std::max(1, n_threads), n_items));

    std::atomic<int64_t> next{0};
    std::mutex mutex;
    std::condition_variable finished;
    std::exception_ptr failure;
    int n_running = n_workers;

    auto work = [&](int worker) {
        try {
            for (int64_t item; !control.stopped() && (item = next.fetch_add(1)) < n_items;) {
                body(item, worker);
            }
        } catch (const Interrupted&) {
            // whoever asked for the stop has the better exception
        } catch (...) {
            std::lock_guard lock(mutex);
            if (!failure) failure = std::current_exception();
            control.stop();
        }
        std::lock_guard lock(mutex);
        if (--n_running == 0) finished.notify_all();
    };

    std::vector<std::thread> workers;
    workers.reserve(n_workers);
    try {
        for (int worker = 0; worker < n_workers; ++worker) workers.emplace_back(work, worker);
        std::unique_lock lock(mutex);
        while (n_running > 0) {
            finished.wait_for(lock, std::chrono::milliseconds(50), [&] { return n_running == 0; });
            lock.unlock();
            control.poll();
            lock.lock();
        }
    } catch (...) {
        control.stop();
        for (auto& worker : workers) worker.join();
        throw;
    }
    for (auto& worker : workers) worker.join();
    if (failure) std::rethrow_exception(failure);
    control.throw_if_stopped();
    control.poll();  // whoever listens hears of the end, however soon it came
}

}  // namespace polyseme
