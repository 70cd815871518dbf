// The progress of a replay: a bar on a terminal, otherwise a line now and then.
#pragma once

#include <cstddef>
#include <string>

#include "apps/progress_bar.h"

namespace rushgate {

struct ProgressState {
  std::size_t completed = 0;
  std::size_t rows = 0;
  std::size_t accepted = 0;
  std::size_t stored = 0;
  std::string note;  // the reason for a wait; empty while it is running
};

/// Writes to stderr. Not thread-safe.
class Progress {
 public:
  /// Updates the display. Calls may be frequent.
  void show(const ProgressState& state);
  /// Removes the bar. Call it before writing anything else.
  void clear() { bar_.clear(); }

  /// Returns `[####----]  50%  100,000 of 200,000 …`, at most `width` characters long.
  static std::string bar(const ProgressState& state, std::size_t width);
  static std::string line(const ProgressState& state);

 private:
  ProgressBar bar_;
};

}  // namespace rushgate
