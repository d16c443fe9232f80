// until_memory runs a step again until there is memory for it. It is for steps that must not be lost and have no caller
// who could be answered: a coroutine that waits to be resumed, a timer, a queue. Other threads release memory
// meanwhile. The step leaves everything as it was when it throws std::bad_alloc; other exceptions are passed on.
#pragma once
#include <chrono>
#include <new>
#include <thread>

namespace restante {

template <class Step>
auto until_memory(Step step) {
  for (;;) {
    try {
      return step();
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

}  // namespace restante
