#include "engine/redis/script/shebang.h"

#include <algorithm>

#include "engine/redis/script/script_errors.h"

namespace rushgate {
namespace {

/// Removes and returns the part of `text` before the first of `separators`, and that separator.
std::string_view take_until(std::string_view& text, std::string_view separators) {
  const std::size_t end = std::min(text.find_first_of(separators), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

bool set_shebang_flag(ScriptFlags& flags, std::string_view name) {
  for (const NamedScriptFlag& flag : kScriptFlags) {
    if (flag.name != name) continue;
    flags.*flag.member = true;
    return true;
  }
  return false;
}

/// Returns false and sets `error` if `list` has an unknown flag.
bool set_flags(ScriptFlags& flags, std::string_view list, Reply& error) {
  bool more = !list.empty();
  while (more) {
    more = list.find(',') != std::string_view::npos;
    const std::string_view name = take_until(list, ",");
    if (set_shebang_flag(flags, name)) continue;
    error = script_errors::shebang_flag(name);
    return false;
  }
  return true;
}

/// Returns false and sets `error` if the option is not `flags=…`.
bool set_option(ScriptFlags& flags, std::string_view option, Reply& error) {
  constexpr std::string_view kFlags = "flags=";
  if (option.starts_with(kFlags)) return set_flags(flags, option.substr(kFlags.size()), error);
  error = script_errors::shebang_option(option);
  return false;
}

}  // namespace

std::optional<Shebang> parse_shebang(std::string_view text, Reply& error) {
  if (!text.starts_with("#!")) return Shebang{{}, text};
  const std::size_t end = text.find_first_of(std::string_view("\n\0", 2));
  if (end == std::string_view::npos || text[end] == '\0') {
    error = script_errors::shebang_without_end();
    return std::nullopt;
  }
  constexpr std::string_view kBlanks = " \t\r";
  std::string_view line = text.substr(0, end);
  if (const std::string_view engine = take_until(line, kBlanks); engine != "#!lua") {
    error = script_errors::shebang_engine(engine);
    return std::nullopt;
  }
  Shebang shebang{{.declared = true}, text.substr(end)};
  while (!line.empty()) {
    const std::string_view option = take_until(line, kBlanks);
    if (!option.empty() && !set_option(shebang.flags, option, error)) return std::nullopt;
  }
  return shebang;
}

}  // namespace rushgate
