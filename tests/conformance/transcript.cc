#include "tests/conformance/transcript.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <utility>

#include "engine/core/base/numbers.h"

namespace rushgate::testing {

// ---- ReplyPath ----------------------------------------------------------------------------------

namespace {

constexpr std::string_view kEvery = "*";

bool is_position(std::string_view step) { return step == kEvery || parse_uint64(step).has_value(); }

/// Returns the value of `name` in a flat map, or null.
Reply* value_of(std::string_view name, Reply& map) {
  std::vector<Reply>& elements = map.mutable_elements();
  for (std::size_t i = 0; i + 1 < elements.size(); i += 2) {
    if (elements[i].is_text() && elements[i].text() == name) return &elements[i + 1];
  }
  return nullptr;
}

}  // namespace

ReplyPath::ReplyPath(std::string_view text) {
  for (;;) {
    const std::size_t dot = text.find('.');
    steps_.emplace_back(text.substr(0, dot));
    if (steps_.back().empty()) throw std::invalid_argument("an empty step in a path");
    if (dot == std::string_view::npos) return;
    text.remove_prefix(dot + 1);
  }
}

std::vector<Reply*> ReplyPath::find(Reply& reply) const {
  std::vector<Reply*> found;
  if (!steps_.empty() && !is_position(steps_.front())) {
    find_anywhere(reply, found);
  } else {
    find(reply, 0, found);
  }
  return found;
}

void ReplyPath::find_anywhere(Reply& reply, std::vector<Reply*>& found) const {
  if (!reply.is_aggregate()) return;
  find(reply, 0, found);
  for (Reply& element : reply.mutable_elements()) find_anywhere(element, found);
}

void ReplyPath::find(Reply& reply, std::size_t step, std::vector<Reply*>& found) const {
  if (step == steps_.size()) return found.push_back(&reply);
  if (!reply.is_aggregate()) return;
  const std::string& name = steps_[step];
  std::vector<Reply>& elements = reply.mutable_elements();
  if (name == kEvery) {
    for (Reply& element : elements) find(element, step + 1, found);
  } else if (const auto position = parse_uint64(name)) {
    if (*position < elements.size()) find(elements[*position], step + 1, found);
  } else if (Reply* const value = value_of(name, reply)) {
    find(*value, step + 1, found);
  }
}

// ---- Arguments ----------------------------------------------------------------------------------

namespace {

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string_view name_at_front(std::string_view text) {
  const auto* const end = std::find_if_not(text.begin(), text.end(), is_name_character);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

/// Expands "repeat(1000,ab)…". Returns the number of characters consumed, 0 for anything else.
std::size_t expand_repeat(std::string_view text, std::string& out) {
  constexpr std::string_view kOpen = "repeat(";
  if (!text.starts_with(kOpen)) return 0;
  const std::size_t comma = text.find(',');
  const std::size_t end = text.find(')');
  if (comma == std::string_view::npos || end == std::string_view::npos || comma > end) return 0;
  const auto count = parse_uint64(text.substr(kOpen.size(), comma - kOpen.size()));
  if (!count) return 0;
  for (std::uint64_t i = 0; i < *count; ++i) out += text.substr(comma + 1, end - comma - 1);
  return end + 1;
}

std::string expand(std::string_view text, const Variables& variables) {
  std::string out;
  while (!text.empty()) {
    const std::size_t dollar = std::min(text.find('$'), text.size());
    out += text.substr(0, dollar);
    text.remove_prefix(dollar);
    if (text.empty()) break;
    text.remove_prefix(1);
    if (const std::size_t taken = expand_repeat(text, out); taken > 0) {
      text.remove_prefix(taken);
      continue;
    }
    const std::string_view name = name_at_front(text);
    const auto variable = variables.find(name);
    if (variable == variables.end()) {
      out += '$';  // for instance an id of XREAD
    } else {
      out += variable->second;
      text.remove_prefix(name.size());
    }
  }
  return out;
}

}  // namespace

Request Step::request(const Variables& variables, int i) const {
  Variables all = variables;
  if (times > 1) all["i"] = std::to_string(i);
  Request request;
  for (const Argument& argument : command) {
    request.add(argument.literal ? argument.text : expand(argument.text, all));
  }
  return request;
}

}  // namespace rushgate::testing
