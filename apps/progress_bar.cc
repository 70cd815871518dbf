#include "apps/progress_bar.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "apps/say.h"

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

}  // namespace

ProgressBar::ProgressBar()
    : on_terminal_(isatty(STDERR_FILENO) == 1),
      next_(Clock::now() + (on_terminal_ ? Clock::duration::zero() : Clock::duration(kLineEvery))) {
}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::show(std::size_t done, std::size_t total, absl::FunctionRef<std::string()> text) {
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  if (on_terminal_) {
    next_ = now + kBarEvery;
    is_shown_ = true;
    say("\r\033[K{}", bar(done, total, text(), terminal_width() - 1));
  } else {
    next_ = now + kLineEvery;
    say("{}\n", line(done, total, text()));
  }
  std::fflush(stderr);
}

void ProgressBar::clear() {
  if (!is_shown_) return;
  say("\r\033[K");
  std::fflush(stderr);
  is_shown_ = false;
}

std::string ProgressBar::bar(std::size_t done, std::size_t total, const std::string& text,
                             std::size_t width) {
  constexpr std::size_t kBarMin = 10;
  constexpr std::size_t kBarMax = 40;
  const std::string after = "] " + line(done, total, text);
  const std::size_t room = width > after.size() ? width - after.size() - 1 : 0;
  const std::size_t length = std::clamp(room, kBarMin, kBarMax);
  const std::size_t full = total == 0 ? length : std::min(length, length * done / total);
  const std::string bar = '[' + std::string(full, '#') + std::string(length - full, '-') + after;
  return bar.substr(0, width);
}

std::string ProgressBar::line(std::size_t done, std::size_t total, const std::string& text) {
  const std::size_t percent = total == 0 ? 100 : 100 * done / total;
  return fmt::format("{:3}%  {}", percent, text);
}

}  // namespace rushgate
