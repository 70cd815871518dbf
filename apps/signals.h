// The program's signals: SIGINT and SIGTERM, which interrupt it, and the signals that must not end
// it. A second SIGINT or SIGTERM ends the process, as by default. The library blocks SIGXFSZ around
// its own writes (engine/core/base/file_size_signal.h).
#pragma once

#include <csignal>
#include <functional>

namespace rushgate {

// ---- For loops, which poll ----

/// Records the first SIGINT or SIGTERM from now on.
void note_interrupts();

/// Returns the signal that was recorded, or 0.
int interrupt_signal();

// ---- For a program that waits ----

/// Blocks SIGINT and SIGTERM in all threads that start during its lifetime, and SIGHUP if
/// `holds_hangups`. wait() reads the first of them.
class HeldInterrupts {
 public:
  explicit HeldInterrupts(bool holds_hangups = false);
  ~HeldInterrupts();
  HeldInterrupts(const HeldInterrupts&) = delete;
  HeldInterrupts& operator=(const HeldInterrupts&) = delete;

  /// Blocks until SIGINT or SIGTERM arrives, or end_wait() is called. Returns the signal, or 0. Calls
  /// `on_hangup` for each SIGHUP that it holds.
  int wait(const std::function<void()>& on_hangup = [] {});
  /// Ends wait(), now or when it is called. Thread-safe.
  static void end_wait();

 private:
  sigset_t signals_{};
  sigset_t before_{};
};

// ---- Signals that must not end the program ----

/// Makes writing to a closed pipe an error.
void ignore_closed_pipes();

/// Makes writing beyond a file size limit an error.
void ignore_file_size_limit();

}  // namespace rushgate
