#include "apps/replay/progress.h"

#include <fmt/format.h>

#include "apps/text_table.h"

namespace rushgate {
namespace {

std::string text_of(const ProgressState& state) {
  return fmt::format("{} of {} requests, {} accepted, {} stored{}{}", count_text(state.completed),
                     count_text(state.rows), count_text(state.accepted), count_text(state.stored),
                     state.note.empty() ? "" : "; ", state.note);
}

}  // namespace

void Progress::show(const ProgressState& state) {
  bar_.show(state.completed, state.rows, [&] { return text_of(state); });
}

std::string Progress::bar(const ProgressState& state, std::size_t width) {
  return ProgressBar::bar(state.completed, state.rows, text_of(state), width);
}

std::string Progress::line(const ProgressState& state) {
  return ProgressBar::line(state.completed, state.rows, text_of(state));
}

}  // namespace rushgate
