// A copy of bytes in pages of two megabytes, where the system has them: prediction reads a model
// all over the place, and with small pages each read also has to look up its page.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace polyseme {

class HugePages {
  public:
    explicit HugePages(std::span<const uint8_t> bytes) : size_(bytes.size()) {
        constexpr size_t page = size_t{1} << 21;
        const size_t alignment = size_ < page ? 64 : page;
        const size_t n = (size_ + alignment - 1) / alignment * alignment;
        data_ = {static_cast<uint8_t*>(::operator new(n, std::align_val_t{alignment})), Free{alignment}};
#ifdef __linux__
        if (alignment == page) madvise(data_.get(), n, MADV_HUGEPAGE);  // may say no
#endif
        if (size_ > 0) std::memcpy(data_.get(), bytes.data(), size_);
    }
    const uint8_t* data() const { return data_.get(); }
    size_t size() const { return size_; }

  private:
    struct Free {
        size_t alignment;
        void operator()(uint8_t* p) const { ::operator delete(p, std::align_val_t{alignment}); }
    };
    std::unique_ptr<uint8_t, Free> data_{nullptr, Free{}};
    size_t size_;
};

}  // namespace polyseme
