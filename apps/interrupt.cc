#include "apps/interrupt.h"

#include <atomic>
#include <csignal>

namespace rushgate {
namespace {

std::atomic<int> noted{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not wait");

void note(int signal) {
  noted = signal;
  // A second signal asks to end at once.
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  sigaction(SIGINT, &by_default, nullptr);
  sigaction(SIGTERM, &by_default, nullptr);
}

}  // namespace

void note_interrupts() {
  struct sigaction noting {};
  noting.sa_handler = note;
  noting.sa_flags = SA_RESTART;
  sigaction(SIGINT, &noting, nullptr);
  sigaction(SIGTERM, &noting, nullptr);
}

int interrupt_signal() { return noted; }

}  // namespace rushgate
