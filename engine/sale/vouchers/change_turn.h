// The turn to change vouchers: one change or rebuild at a time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>

#include <rushgate/client.h>

namespace rushgate {

/// Is held by at most one caller, who gives it back. Not a mutex: the holder calls the client, which
/// may suspend its fiber. Another fiber of its thread would then block the thread on a mutex.
/// Thread-safe.
class ChangeTurn {
 public:
  /// `wait` suspends the callers of take(). Not owned. Null: the calling thread sleeps.
  explicit ChangeTurn(const WaitMethod* wait);

  /// Takes the turn. Returns false if somebody has it.
  bool try_take();
  /// Takes the turn after those who have it or wait for it. Returns false if it did not come within
  /// `patience`, by this machine's clock: the holder may be waiting for the caller.
  bool take(std::chrono::milliseconds patience);
  /// Hands the turn to the first that waits. The caller must have it.
  void give_back();

 private:
  /// A caller of take(), on its stack. Guarded by mutex_.
  struct Waiter {
    WaitMethod::Event* resumed = nullptr;
    bool has_turn = false;
    bool is_done = false;  // it has the turn, or has given up
  };

  bool enqueue(Waiter& waiter, WaitMethod::Event& resumed);
  void end_after(Waiter& waiter, std::chrono::milliseconds patience);

  const WaitMethod& wait_;
  std::mutex mutex_;  // guards the members below
  bool is_taken_ = false;
  std::deque<Waiter*> waiting_;
  std::condition_variable is_done_;  // a waiter is
};

/// Owns the turn while it lives, if is_ours().
class VoucherChange {
 public:
  /// Does not wait.
  explicit VoucherChange(ChangeTurn& turn) : turn_(turn), is_ours_(turn.try_take()) {}
  ~VoucherChange() {
    if (is_ours_) turn_.give_back();
  }
  VoucherChange(const VoucherChange&) = delete;
  VoucherChange& operator=(const VoucherChange&) = delete;

  [[nodiscard]] bool is_ours() const { return is_ours_; }
  /// Waits for the turn. Returns is_ours().
  bool wait(std::chrono::milliseconds patience) {
    return is_ours_ = is_ours_ || turn_.take(patience);
  }

 private:
  ChangeTurn& turn_;
  bool is_ours_;
};

}  // namespace rushgate
