// Allocations that fail, for tests: replaces operator new of the test program, so exactly one file of a program
// includes it. FailingAllocation::after(n) lets one allocation fail, on any thread but those that are exempt: the one
// that follows n others. Not with ThreadSanitizer, which has its own operator new: then RESTANTE_HAS_OTHER_NEW is
// defined.
#pragma once
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RESTANTE_HAS_OTHER_NEW
#endif
#endif
#ifndef RESTANTE_HAS_OTHER_NEW
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace restante {

class FailingAllocation {
 public:
  // Also replaces the one that was to fail until now.
  static void after(long others) { left_ = others; }
  // From now on none fails. True if the one that was to fail has failed.
  static bool end() { return left_.exchange(kNone) < 0; }
  static bool has_failed() { return left_ < 0; }
  // The same as end(), and how many others were left.
  static long pause() { return left_.exchange(kNone); }
  // The calling thread is exempt while this lives: the test's own one.
  class Exempt {
   public:
    Exempt() { exempt_ = true; }
    ~Exempt() { exempt_ = false; }
    Exempt(const Exempt&) = delete;
    Exempt& operator=(const Exempt&) = delete;
  };

  // Counts an allocation; true if it is the one that fails.
  static bool fails() { return !exempt_ && left_.load(std::memory_order_relaxed) >= 0 && left_.fetch_sub(1) == 0; }

 private:
  static constexpr long kNone = -1;
  static inline std::atomic<long> left_{kNone};
  static inline thread_local bool exempt_ = false;
};

inline void* allocate_or_fail(std::size_t size) {
  if (FailingAllocation::fails()) throw std::bad_alloc();
  if (void* const memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}

inline void* allocate_or_null(std::size_t size) noexcept {
  return FailingAllocation::fails() ? nullptr : std::malloc(size > 0 ? size : 1);
}

}  // namespace restante

void* operator new(std::size_t size) { return restante::allocate_or_fail(size); }
void* operator new[](std::size_t size) { return restante::allocate_or_fail(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return restante::allocate_or_null(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return restante::allocate_or_null(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
#endif
