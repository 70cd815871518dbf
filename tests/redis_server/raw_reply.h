// Reads RESP2 and RESP3 replies from bytes: what a test needs to see what a server really sent.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "engine/client/reply.h"

namespace rushgate::testing {

struct ParsedReply {
  Reply reply;
  std::size_t size;  // of its bytes
};

/// The reply at the beginning of `bytes`; nothing if it is not yet complete. Throws
/// std::runtime_error if it can never become one.
std::optional<ParsedReply> parse_raw_reply(std::string_view bytes);

/// The bytes as they would stand in a C string, for messages; long ones are cut in the middle.
std::string escaped(std::string_view bytes);

}  // namespace rushgate::testing
