#include "engine/client/reply.h"

#include <cmath>
#include <cstdio>

namespace rushgate {
namespace {

/// Doubles as RESP writes them: shortest of 17 significant digits, "inf", "-inf", "nan".
std::string format_double(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (std::isnan(value)) return "nan";
  char text[64];
  std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}

void append_debug(const Reply& reply, std::string& out) {
  switch (reply.kind()) {
    case Reply::Kind::kNil:
      out += "(nil)";
      return;
    case Reply::Kind::kNilArray:
      out += "(nil array)";
      return;
    case Reply::Kind::kInteger:
      out += "(integer) " + std::to_string(reply.integer());
      return;
    case Reply::Kind::kDouble:
      out += "(double) " + format_double(reply.real());
      return;
    case Reply::Kind::kBoolean:
      out += reply.boolean() ? "(true)" : "(false)";
      return;
    case Reply::Kind::kStatus:
      out += reply.text();
      return;
    case Reply::Kind::kError:
      out += "(error) " + reply.text();
      return;
    case Reply::Kind::kBulk:
    case Reply::Kind::kBigNumber:
    case Reply::Kind::kVerbatim:
      out += '"' + reply.text() + '"';
      return;
    case Reply::Kind::kArray:
    case Reply::Kind::kMap:
    case Reply::Kind::kSet:
    case Reply::Kind::kPush:
      break;
  }
  out += reply.kind() == Reply::Kind::kMap ? "{" : "[";
  const char* separator = "";
  for (const Reply& element : reply.elements()) {
    out += separator;
    append_debug(element, out);
    separator = ", ";
  }
  out += reply.kind() == Reply::Kind::kMap ? "}" : "]";
}

bool is_the_same_in_resp2(Reply::Kind kind) {
  using enum Reply::Kind;
  return kind == kNil || kind == kNilArray || kind == kInteger || kind == kStatus ||
         kind == kBulk || kind == kError;
}

}  // namespace

std::string_view Reply::error_code() const {
  if (!is_error()) return {};
  const std::string_view whole = text();
  return whole.substr(0, whole.find(' '));
}

Reply to_resp2(Reply reply) {
  if (is_the_same_in_resp2(reply.kind())) return reply;
  switch (reply.kind()) {
    case Reply::Kind::kDouble:
      return Reply::bulk(format_double(reply.real()));
    case Reply::Kind::kBoolean:
      return Reply::integer(reply.integer());
    case Reply::Kind::kBigNumber:
      return Reply::bulk(std::move(reply.text()));
    case Reply::Kind::kVerbatim:
      return Reply::bulk(reply.text().substr(4));
    default:
      break;
  }
  for (Reply& element : reply.elements()) {
    if (!is_the_same_in_resp2(element.kind())) element = to_resp2(std::move(element));
  }
  return reply.kind() == Reply::Kind::kArray ? std::move(reply)
                                             : Reply::array(std::move(reply.elements()));
}

std::string to_debug_string(const Reply& reply) {
  std::string out;
  append_debug(reply, out);
  return out;
}

}  // namespace rushgate
