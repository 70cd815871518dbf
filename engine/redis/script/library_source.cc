#include "engine/redis/script/library_source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "engine/core/base/letter_case.h"
#include "engine/core/client/quoted_words.h"
#include "engine/redis/script/function_errors.h"
#include "engine/redis/script/lua_conversion.h"

namespace rushgate {
namespace {

constexpr std::string_view kMark = "#!";

/// Sets the name by the options after the engine. Returns false and sets `error` if one is unknown.
bool read_name(const Request& words, std::string& name, Reply& error) {
  constexpr std::string_view kName = "name=";
  bool has_name = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (!equal_in_any_case(word.substr(0, kName.size()), kName)) {
      error = Reply::error(error_line(function_errors::metadata_value(word)));
      return false;
    }
    if (std::exchange(has_name, true)) {
      error = function_errors::several_names();
      return false;
    }
    name = word.substr(kName.size());
  }
  if (!has_name) error = function_errors::no_name();
  return has_name;
}

}  // namespace

bool is_function_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
  });
}

std::optional<LibrarySource> parse_library(std::string_view code, Reply& error) {
  if (!code.starts_with(kMark)) {
    error = function_errors::no_metadata();
    return std::nullopt;
  }
  const std::size_t end = code.find_first_of(std::string_view("\n\0", 2));
  Request words;
  if (end == std::string_view::npos || code[end] == '\0' ||
      !split_quoted(code.substr(0, end), words)) {
    error = function_errors::invalid_metadata();
    return std::nullopt;
  }
  LibrarySource source{.name = {}, .code = code, .body = code.substr(end)};
  if (!read_name(words, source.name, error)) return std::nullopt;
  if (!is_function_name(source.name)) {
    error = Reply::error(function_errors::kName);
    return std::nullopt;
  }
  const std::string_view engine = std::string_view(words[0]).substr(kMark.size());
  if (!equal_in_any_case(engine, "lua")) {
    error = Reply::error(error_line(function_errors::no_engine(engine)));
    return std::nullopt;
  }
  return source;
}

}  // namespace rushgate
