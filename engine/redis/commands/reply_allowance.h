// A bound on the memory of one reply, for requests that can ask for many times the stored
// bytes.
#pragma once

#include <algorithm>
#include <cstddef>

namespace rushgate {

/// Counts down from Session::reply_bytes_max. The reply to a request that exceeds it is
/// errors::reply_too_large().
class ReplyAllowance {
 public:
  explicit ReplyAllowance(std::size_t bytes_max) : left_(bytes_max) {}

  /// Takes `bytes`. Returns false, and takes nothing, if fewer are left.
  [[nodiscard]] bool take(std::size_t bytes) {
    if (bytes > left_) {
      is_exceeded_ = true;
      return false;
    }
    left_ -= bytes;
    return true;
  }
  /// Returns true if take() has returned false.
  [[nodiscard]] bool is_exceeded() const { return is_exceeded_; }
  /// Takes `bytes`, or all that is left.
  void take_up_to(std::size_t bytes) { left_ -= std::min(bytes, left_); }

 private:
  std::size_t left_;
  bool is_exceeded_ = false;
};

}  // namespace rushgate
