// Output of the engine for the clients of one server, until their connections take it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace rushgate {

/// Bounds the messages and replies that one turn creates, because the server sees them only after
/// the turn. Thread-safe.
class UntakenOutput {
 public:
  /// `bytes_max`: the bound on this and the output held by the connections, together; 0: none.
  explicit UntakenOutput(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Sets how much memory the connections hold.
  void set_held_bytes(std::size_t bytes) { held_bytes_ = bytes; }

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// Returns true if `bytes` more fit into the bound.
  [[nodiscard]] bool has_capacity_for(std::size_t bytes) const {
    return bytes_max_ == 0 || bytes_ + bytes <= untaken_bytes_max();
  }
  void add(std::size_t bytes) { bytes_ += bytes; }
  void remove(std::size_t bytes) { bytes_ -= bytes; }

 private:
  /// If the connections hold the whole bound, the server closes the largest of them, and not the
  /// receiver of a new message. A part of the bound is added for that.
  [[nodiscard]] std::size_t untaken_bytes_max() const {
    const std::size_t held = held_bytes_;
    return std::max(bytes_max_ - std::min(held, bytes_max_), bytes_max_ / 8);
  }

  const std::size_t bytes_max_;
  std::atomic<std::size_t> held_bytes_{0};
  std::atomic<std::size_t> bytes_{0};
};

}  // namespace rushgate
