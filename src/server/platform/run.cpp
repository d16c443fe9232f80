#include "server/platform/platform.h"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <thread>

namespace restante {
namespace {

sigset_t our_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

int next_signal() {
  const sigset_t signals = our_signals();
  int signal = 0;
  while (sigwait(&signals, &signal) != 0) {
  }
  return signal;
}

}  // namespace

void block_signals() {
  const sigset_t signals = our_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // A reader that has closed is an error code of write(), not the end of the server.
  ::signal(SIGPIPE, SIG_IGN);
}

void run(Platform& platform, const std::function<void()>& ready) {
  platform.start();
  ready();
  for (int signal = next_signal(); signal == SIGHUP; signal = next_signal()) platform.reload();
  // While the drain waits, the next SIGTERM or SIGINT must still be received.
  std::atomic<bool> stopped{false};
  std::thread second_signal([&] {
    while (!stopped.load()) {
      if (next_signal() == SIGHUP && !stopped.load()) continue;
      if (!stopped.load()) platform.stop_now();
    }
  });
  platform.stop();
  stopped.store(true);
  pthread_kill(second_signal.native_handle(), SIGHUP);
  second_signal.join();
}

}  // namespace restante
