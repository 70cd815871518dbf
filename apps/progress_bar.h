// The progress of a long command: a bar on a terminal, otherwise a line now and then.
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
  /// Calls clear().
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Updates the display. Calls may be frequent: `text` is called only before a write.
  void show(std::size_t done, std::size_t total, absl::FunctionRef<std::string()> text);
  /// Removes the bar. Call it before writing anything else.
  void clear();

  /// Returns `[####----]  50%  <text>`, at most `width` characters long.
  static std::string bar(std::size_t done, std::size_t total, const std::string& text,
                         std::size_t width);
  /// Returns ` 50%  <text>`.
  static std::string line(std::size_t done, std::size_t total, const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;

  const bool on_terminal_;
  bool is_shown_ = false;
  Clock::time_point next_;
};

}  // namespace rushgate
