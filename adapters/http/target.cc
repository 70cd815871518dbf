#include "adapters/http/target.h"

#include <algorithm>
#include <cstddef>

#include "engine/core/base/percent_encoding.h"
#include "engine/core/base/utf8.h"

namespace rushgate::http {
namespace {

/// Returns the text with %XX decoded; nothing if that is no UTF-8.
std::optional<std::string> decoded_text(std::string_view text) {
  auto decoded = percent_decoded(text);
  if (decoded && !is_utf8(*decoded)) return std::nullopt;
  return decoded;
}

/// Cuts the text before the next separator off, and returns it.
std::string_view cut(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

bool parse_query(std::string_view text, Target& target) {
  while (!text.empty()) {
    std::string_view value = cut(text, '&');
    const auto name = decoded_text(cut(value, '='));
    const auto decoded = decoded_text(value);
    if (!name || !decoded) return false;
    target.query.emplace_back(*name, *decoded);
  }
  return true;
}

}  // namespace

std::optional<Target> parse_target(std::string_view text) {
  if (!text.starts_with('/')) return std::nullopt;
  Target target;
  std::string_view query = text.substr(1);
  std::string_view path = cut(query, '?');
  while (true) {
    const bool is_last = path.find('/') == std::string_view::npos;
    auto part = decoded_text(cut(path, '/'));
    if (!part) return std::nullopt;
    target.path.push_back(*std::move(part));
    if (is_last) break;
  }
  if (!parse_query(query, target)) return std::nullopt;
  return target;
}

}  // namespace rushgate::http
