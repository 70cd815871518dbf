#include "engine/commands/statistics.h"

#include <cstddef>

namespace rushgate {
namespace {

/// A text without a word of its own in front is a plain error.
std::string_view code_of(std::string_view text) {
  constexpr std::size_t kCodeBytesMax = 30;
  const std::size_t end = text.substr(0, kCodeBytesMax + 1).find(' ');
  return end == std::string_view::npos ? "ERR" : text.substr(0, end);
}

}  // namespace

void ErrorCounts::note(std::string_view text, bool in_script) {
  constexpr std::size_t kCodesMax = 128;
  const bool is_passed_on =
      !in_script && !last_in_script_.empty() && text.starts_with(last_in_script_);
  if (in_script) {
    last_in_script_ = text;
  } else {
    last_in_script_.clear();
  }
  if (is_passed_on) return;
  ++total_;
  const std::string code(code_of(text));
  if (by_code_.size() < kCodesMax || by_code_.contains(code)) ++by_code_[code];
}

}  // namespace rushgate
