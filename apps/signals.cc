#include "apps/signals.h"

#include <unistd.h>

#include <atomic>

namespace rushgate {
namespace {

// ---- For loops ----

std::atomic<int> recorded{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not wait");

void handle_interrupts(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

void record(int signal) {
  recorded = signal;
  handle_interrupts(SIG_DFL);  // a second signal asks to end at once
}

// ---- For a program that waits ----

constexpr int kEndOfWait = SIGUSR1;

sigset_t interrupts() {
  sigset_t signals{};
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

void note_interrupts() { handle_interrupts(record); }

int interrupt_signal() { return recorded; }

HeldInterrupts::HeldInterrupts(bool holds_hangups) : signals_(interrupts()) {
  sigaddset(&signals_, kEndOfWait);
  if (holds_hangups) sigaddset(&signals_, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

HeldInterrupts::~HeldInterrupts() {
  std::signal(kEndOfWait, SIG_IGN);  // also discards one that is pending
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int HeldInterrupts::wait(const std::function<void()>& on_hangup) {
  int signal = 0;
  while (sigwait(&signals_, &signal) == 0 && signal == SIGHUP) on_hangup();
  const sigset_t from_outside = interrupts();
  pthread_sigmask(SIG_UNBLOCK, &from_outside, nullptr);  // a second signal asks to end at once
  return signal == kEndOfWait ? 0 : signal;
}

void HeldInterrupts::end_wait() { kill(getpid(), kEndOfWait); }

void ignore_closed_pipes() { std::signal(SIGPIPE, SIG_IGN); }

void ignore_file_size_limit() { std::signal(SIGXFSZ, SIG_IGN); }

}  // namespace rushgate
