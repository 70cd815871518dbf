// How far a long command is: a bar on a terminal, a line now and then elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "absl/functional/function_ref.h"

namespace rushgate {

/// Writes to stderr. Not thread-safe.
class ProgressBar {
 public:
  ProgressBar();
  /// clear()s.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// May be called as often as one likes. `text` is called only when something is written.
  void show(std::size_t done, std::size_t total, absl::FunctionRef<std::string()> text);
  /// Removes the bar, before something else is written.
  void clear();

  /// `[####----]  50%  <text>`, at most `width` characters.
  static std::string bar(std::size_t done, std::size_t total, const std::string& text,
                         std::size_t width);
  /// ` 50%  <text>`.
  static std::string line(std::size_t done, std::size_t total, const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;

  const bool on_terminal_;
  bool is_shown_ = false;
  Clock::time_point next_;
};

}  // namespace rushgate
