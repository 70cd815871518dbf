#include "apps/replay/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "apps/say.h"
#include "apps/text_table.h"

namespace rushgate {
namespace {

constexpr std::chrono::milliseconds kBarEvery{100};
constexpr std::chrono::seconds kLineEvery{1};

std::size_t terminal_width() {
  constexpr std::size_t kUsual = 80;
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsual;
}

std::string count_text(std::size_t count) { return grouped(static_cast<std::int64_t>(count)); }

}  // namespace

Progress::Progress()
    : on_terminal_(isatty(STDERR_FILENO) == 1),
      next_(Clock::now() + (on_terminal_ ? Clock::duration::zero() : Clock::duration(kLineEvery))) {
}

Progress::~Progress() { clear(); }

void Progress::show(const ProgressState& state) {
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  if (on_terminal_) {
    next_ = now + kBarEvery;
    is_shown_ = true;
    say("\r\033[K{}", bar(state, terminal_width() - 1));
  } else {
    next_ = now + kLineEvery;
    say("{}\n", line(state));
  }
  std::fflush(stderr);
}

void Progress::clear() {
  if (!is_shown_) return;
  say("\r\033[K");
  std::fflush(stderr);
  is_shown_ = false;
}

std::string Progress::bar(const ProgressState& state, std::size_t width) {
  constexpr std::size_t kBarMin = 10;
  constexpr std::size_t kBarMax = 40;
  const std::string text = "] " + line(state);
  const std::size_t room = width > text.size() ? width - text.size() - 1 : 0;
  const std::size_t length = std::clamp(room, kBarMin, kBarMax);
  const std::size_t full = state.rows == 0 ? length : length * state.answered / state.rows;
  const std::string bar = '[' + std::string(full, '#') + std::string(length - full, '-') + text;
  return bar.substr(0, width);
}

std::string Progress::line(const ProgressState& state) {
  const std::size_t percent = state.rows == 0 ? 100 : 100 * state.answered / state.rows;
  return fmt::format("{:3}%  {} of {} requests, {} accepted, {} stored{}{}", percent,
                     count_text(state.answered), count_text(state.rows), count_text(state.accepted),
                     count_text(state.stored), state.note.empty() ? "" : "; ", state.note);
}

}  // namespace rushgate
