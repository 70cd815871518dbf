// The right to run commands.
#pragma once

#include <atomic>
#include <thread>

namespace rushgate {

/// Held by at most one thread. Thread-safe. No thread may hold it at its destruction.
///
/// A submitter queues an operation and then calls try_take(). The holder calls release() and then
/// checks the queue. Both calls are full fences, so at least one of the two sees the other's write.
class Turn {
 public:
  [[nodiscard]] bool try_take() {
    if (is_taken_.exchange(true)) return false;
    receive();
    return true;
  }
  /// Waits until the turn is free, and takes it.
  void take() {
    while (!try_take()) std::this_thread::yield();
  }
  void release() {
    give_away();
    is_taken_.exchange(false);  // a full fence, unlike a store
  }

  /// Ends the turn of this thread, but does not free it. Another thread calls receive(), or the
  /// turn stays taken for good.
  void give_away() { innermost_ = outer_; }
  /// Continues a turn that another thread gave to this one.
  void receive() {
    outer_ = innermost_;
    innermost_ = this;
  }

  /// Returns true if the calling thread holds this turn.
  [[nodiscard]] bool is_held_here() const {
    const Turn* turn = innermost_;
    while (turn != nullptr && turn != this) turn = turn->outer_;
    return turn != nullptr;
  }

  // ---- The service thread ----

  /// Takes the turn. If it is taken, leaves a request, which its holder sees after release().
  [[nodiscard]] bool try_take_or_request() {
    if (try_take()) return true;
    is_requested_ = true;
    if (!try_take()) return false;
    is_requested_ = false;
    return true;
  }
  /// Returns true if there was a request, and removes it. Must be called after release().
  [[nodiscard]] bool take_request() {
    return is_requested_.load() && is_requested_.exchange(false);
  }

 private:
  // A native script of one engine may call a client of another engine.
  static inline constinit thread_local const Turn* innermost_ = nullptr;  // held by this thread

  const Turn* outer_ = nullptr;  // guarded by the turn: its holder held that one before
  alignas(64) std::atomic<bool> is_taken_{false};
  alignas(64) std::atomic<bool> is_requested_{false};
};

}  // namespace rushgate
