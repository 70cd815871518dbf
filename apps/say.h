// What the program says beside its results.
#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>

namespace rushgate {

/// On stderr, as it is. Whoever closed that does not want to know: it is no error.
void say_text(const std::string& text);

template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  say_text(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace rushgate
