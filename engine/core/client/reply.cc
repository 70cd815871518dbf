#include "engine/core/base/heap.h"
#include "engine/core/base/numbers.h"
#include <rushgate/reply.h>

namespace rushgate {
namespace {

/// Returns a kDouble as the protocol writes it.
std::string double_text(const Reply& reply) {
  if (reply.is_decimal()) return format_long_double(reply.real());
  return std::string(DoubleText(reply.real()).view());
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
      out += "(double) " + double_text(reply);
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
    case Reply::Kind::kSeveral:
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

/// Converts in place, because nearly all replies already have RESP2's kinds.
void convert_to_resp2(Reply& reply) {
  switch (reply.kind()) {
    case Reply::Kind::kNil:
    case Reply::Kind::kNilArray:
    case Reply::Kind::kInteger:
    case Reply::Kind::kStatus:
    case Reply::Kind::kBulk:
    case Reply::Kind::kError:
      return;
    case Reply::Kind::kDouble:
      reply = Reply::bulk(double_text(reply));
      return;
    case Reply::Kind::kBoolean:
      reply = Reply::integer(reply.integer());
      return;
    case Reply::Kind::kBigNumber:
      reply = Reply::bulk(std::move(reply.mutable_text()));
      return;
    case Reply::Kind::kVerbatim:
      reply = Reply::bulk(reply.text().substr(4));
      return;
    case Reply::Kind::kArray:
    case Reply::Kind::kMap:
    case Reply::Kind::kSet:
    case Reply::Kind::kPush:
    case Reply::Kind::kSeveral:
      break;
  }
  for (Reply& element : reply.mutable_elements()) convert_to_resp2(element);
  if (reply.kind() == Reply::Kind::kSeveral) return;
  if (reply.kind() != Reply::Kind::kArray)
    reply = Reply::array(std::move(reply.mutable_elements()));
}

}  // namespace

const std::string& Reply::no_text() {
  static const std::string kEmpty;
  return kEmpty;
}

const std::vector<Reply>& Reply::no_elements() {
  static const std::vector<Reply> kEmpty;
  return kEmpty;
}

std::string_view Reply::error_code() const {
  if (!is_error()) return {};
  const std::string_view whole = text();
  return whole.substr(0, whole.find(' '));
}

Reply to_resp2(Reply reply) {
  convert_to_resp2(reply);
  return reply;
}

std::size_t memory_bytes(const Reply& reply) {
  std::size_t bytes = sizeof(Reply);
  if (reply.has_text()) return bytes + heap_bytes(reply.text());
  if (!reply.is_aggregate()) return bytes;
  for (const Reply& element : reply.elements()) bytes += memory_bytes(element);
  return bytes;
}

std::string to_debug_string(const Reply& reply) {
  std::string out;
  append_debug(reply, out);
  return out;
}

std::string_view reply_kind_name(Reply::Kind kind) {
  switch (kind) {
    case Reply::Kind::kNil:
      return "nil";
    case Reply::Kind::kNilArray:
      return "nil array";
    case Reply::Kind::kInteger:
      return "integer";
    case Reply::Kind::kDouble:
      return "double";
    case Reply::Kind::kBoolean:
      return "boolean";
    case Reply::Kind::kStatus:
      return "status";
    case Reply::Kind::kBulk:
      return "bulk";
    case Reply::Kind::kError:
      return "error";
    case Reply::Kind::kBigNumber:
      return "big number";
    case Reply::Kind::kVerbatim:
      return "verbatim";
    case Reply::Kind::kArray:
      return "array";
    case Reply::Kind::kMap:
      return "map";
    case Reply::Kind::kSet:
      return "set";
    case Reply::Kind::kPush:
      return "push";
    case Reply::Kind::kSeveral:
      return "several";
  }
  return "?";
}

}  // namespace rushgate
