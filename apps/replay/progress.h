// How far a replay is: a bar on a terminal, a line now and then elsewhere.
#pragma once

#include <cstddef>
#include <string>

#include "apps/progress_bar.h"

namespace rushgate {

struct ProgressState {
  std::size_t answered = 0;
  std::size_t rows = 0;
  std::size_t accepted = 0;
  std::size_t stored = 0;
  std::string note;  // what it waits for; empty while it goes on
};

/// Writes to stderr. Not thread-safe.
class Progress {
 public:
  /// May be called as often as one likes.
  void show(const ProgressState& state);
  /// Takes the bar away, before something else is written.
  void clear() { bar_.clear(); }

  /// `[####----]  50%  100,000 of 200,000 …`, at most `width` characters.
  static std::string bar(const ProgressState& state, std::size_t width);
  static std::string line(const ProgressState& state);

 private:
  ProgressBar bar_;
};

}  // namespace rushgate
