#include "adapters/resp/resp_encoder.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/core/base/numbers.h"

namespace rushgate {
namespace {

void append_number_line(char type, std::int64_t value, std::string& out) {
  out += type;
  out += DecimalText(value).view();
  out += kLineEnd;
}

void append_length_line(char type, std::size_t length, std::string& out) {
  append_number_line(type, static_cast<std::int64_t>(length), out);
}

/// Appends '$' or '=' with a length, then any bytes.
void append_sized(char type, std::string_view bytes, std::string& out) {
  append_length_line(type, bytes.size(), out);
  out += bytes;
  out += kLineEnd;
}

/// Appends a line that begins with '+', '-', '(' or ','.
void append_line(char type, std::string_view text, std::string& out) {
  out += type;
  for (const char c : text) out += c == '\r' || c == '\n' ? ' ' : c;
  out += kLineEnd;
}

void append_double(std::string_view text, bool resp3, std::string& out) {
  if (resp3) {
    append_line(',', text, out);
  } else {
    append_sized('$', text, out);
  }
}

/// Removes the format before the colon, which only RESP3 has.
std::string_view without_format(std::string_view verbatim) {
  constexpr std::size_t kFormatSize = 4;
  return verbatim.substr(verbatim.size() < kFormatSize ? 0 : kFormatSize);
}

void append_text(const Reply& reply, bool resp3, std::string& out) {
  switch (reply.kind()) {
    case Reply::Kind::kStatus:
      return append_line('+', reply.text(), out);
    case Reply::Kind::kError:
      return append_line('-', reply.text(), out);
    case Reply::Kind::kBigNumber:
      return resp3 ? append_line('(', reply.text(), out) : append_sized('$', reply.text(), out);
    case Reply::Kind::kVerbatim:
      return resp3 ? append_sized('=', reply.text(), out)
                   : append_sized('$', without_format(reply.text()), out);
    default:
      return append_sized('$', reply.text(), out);
  }
}

}  // namespace

void append_reply(const Reply& reply, RespVersion version, std::string& out) {
  const bool resp3 = version == RespVersion::k3;
  if (reply.has_text()) return append_text(reply, resp3, out);
  switch (reply.kind()) {
    case Reply::Kind::kNil:
      out += resp3 ? "_\r\n" : "$-1\r\n";
      return;
    case Reply::Kind::kNilArray:
      out += resp3 ? "_\r\n" : "*-1\r\n";
      return;
    case Reply::Kind::kInteger:
      return append_number_line(':', reply.integer(), out);
    case Reply::Kind::kDouble:
      if (reply.is_decimal()) return append_double(format_long_double(reply.real()), resp3, out);
      return append_double(DoubleText(reply.real()).view(), resp3, out);
    case Reply::Kind::kBoolean:
      if (!resp3) return append_number_line(':', reply.integer(), out);
      out += reply.boolean() ? "#t\r\n" : "#f\r\n";
      return;
    default:
      break;
  }
  append_aggregate_header(reply, version, out);
  for (const Reply& element : reply.elements()) append_reply(element, version, out);
}

void append_aggregate_header(const Reply& reply, RespVersion version, std::string& out) {
  if (reply.kind() == Reply::Kind::kSeveral) return;
  const bool resp3 = version == RespVersion::k3;
  const std::size_t size = reply.elements().size();
  if (resp3 && reply.kind() == Reply::Kind::kMap) return append_length_line('%', size / 2, out);
  if (resp3 && reply.kind() == Reply::Kind::kSet) return append_length_line('~', size, out);
  if (resp3 && reply.kind() == Reply::Kind::kPush) return append_length_line('>', size, out);
  append_length_line('*', size, out);
}

void append_bulk_header(std::size_t bytes, std::string& out) {
  append_length_line('$', bytes, out);
}

void append_request(const Request& request, std::string& out) {
  append_length_line('*', request.size(), out);
  for (std::size_t i = 0; i < request.size(); ++i) append_sized('$', request[i], out);
}

}  // namespace rushgate
