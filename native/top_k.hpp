// The k best of a stream of scored ids. Ties go to the lower id, never to chance.
#pragma once

#include <cstdint>
#include <limits>

namespace polyseme {

// Keeps its entries sorted, best first, in arrays that the caller owns; for small k.
class TopK {
  public:
    // `size` entries are there already.
    TopK(int32_t* ids, float* scores, int32_t k, int32_t size = 0)
        : ids_(ids), scores_(scores), k_(k), size_(size) {}

    int32_t size() const { return size_; }
    bool full() const { return size_ == k_; }
    // What a newcomer has to reach to have a chance.
    float threshold() const { return full() ? scores_[k_ - 1] : -std::numeric_limits<float>::infinity(); }

    void offer(int32_t id, float score) {
        if (full()) {
            const float worst = scores_[k_ - 1];
            if (score < worst || (score == worst && id > ids_[k_ - 1])) return;
        } else {
            ++size_;
        }
        int32_t at = size_ - 1;
        for (; at > 0; --at) {
            const bool better = score > scores_[at - 1] || (score == scores_[at - 1] && id < ids_[at - 1]);
            if (!better) break;
            ids_[at] = ids_[at - 1];
            scores_[at] = scores_[at - 1];
        }
        ids_[at] = id;
        scores_[at] = score;
    }

  private:
    int32_t* ids_;
    float* scores_;
    int32_t k_;
    int32_t size_;
};

}  // namespace polyseme
