#include "adapters/http/object_text.h"

#include <algorithm>
#include <utility>

#include "adapters/flash_sale/sale_json.h"
#include "engine/core/base/numbers.h"

namespace rushgate::http {
namespace {

/// Returns true if a string needs no escapes.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

}  // namespace

void ObjectText::begin_member(std::string_view name) {
  constexpr std::size_t kUsualBytes = 256;
  if (text_.size() == 1) {
    text_.reserve(kUsualBytes);
  } else {
    text_ += ',';
  }
  text_.append("\"").append(name).append("\":");
}

ObjectText& ObjectText::add_text(std::string_view name, std::string_view text) {
  if (!is_plain(text)) return add_json(name, Json(text));
  begin_member(name);
  text_.append("\"").append(text).append("\"");
  return *this;
}

ObjectText& ObjectText::add_number(std::string_view name, std::int64_t number) {
  if (const Json json = number_json(number); !json.is_number()) return add_json(name, json);
  begin_member(name);
  text_.append(DecimalText(number).view());
  return *this;
}

ObjectText& ObjectText::add_json(std::string_view name, const Json& value) {
  begin_member(name);
  text_ += value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return *this;
}

std::string ObjectText::finish() && {
  text_ += "}\n";
  return std::move(text_);
}

}  // namespace rushgate::http
