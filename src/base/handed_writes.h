// HandedWrites counts the writes that this thread has handed to the store. The edge compares the count before and after
// a job of a request: a request that gets no memory after it has handed over a write may have been stored, and its
// answer must not say that it was not. A write that failed itself fails with another exception than std::bad_alloc
// (store/commit_queue.h). One counter for each thread.
#pragma once

namespace restante {

class HandedWrites {
 public:
  static void add() { ++count_; }
  static int count() { return count_; }

 private:
  static inline thread_local int count_ = 0;
};

// Adds what this thread hands over during its life to `into`, if given.
class CountedWrites {
 public:
  explicit CountedWrites(int* into) : into_(into), before_(HandedWrites::count()) {}
  ~CountedWrites() {
    if (into_) *into_ += HandedWrites::count() - before_;
  }
  CountedWrites(const CountedWrites&) = delete;
  CountedWrites& operator=(const CountedWrites&) = delete;

 private:
  int* const into_;
  const int before_;
};

}  // namespace restante
