// Waiting for what groups of servers do by themselves.
#pragma once

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

namespace rushgate::testing {

/// Waits until `is_done` returns true. A std::runtime_error that it throws means: not yet, as a server
/// closes connections when it becomes a replica. Throws std::runtime_error with `what` after a minute.
inline void wait_or_throw(const std::string& what, const std::function<bool()>& is_done) {
  constexpr std::chrono::seconds kLongest{60};  // generous: the machine may be busy
  const auto deadline = std::chrono::steady_clock::now() + kLongest;
  std::string why;
  while (std::chrono::steady_clock::now() < deadline) {
    try {
      if (is_done()) return;
      why.clear();
    } catch (const std::runtime_error& error) {
      why = std::string(": ") + error.what();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  throw std::runtime_error(what + why);
}

}  // namespace rushgate::testing
