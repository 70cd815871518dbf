// Waiting for what groups of servers do by themselves.
#pragma once

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

namespace rushgate::testing {

/// Waits until `is_done` returns true. Throws std::runtime_error with `what` after half a minute.
inline void wait_or_throw(const std::string& what, const std::function<bool()>& is_done) {
  constexpr std::chrono::seconds kLongest{30};
  const auto deadline = std::chrono::steady_clock::now() + kLongest;
  while (!is_done()) {
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error(what);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace rushgate::testing
