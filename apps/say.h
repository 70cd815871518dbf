// Messages of the program other than its results.
#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>

namespace rushgate {

/// Writes a message to stderr. Errors are ignored: stderr may be closed.
void say_text(const std::string& text);

template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  say_text(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace rushgate
