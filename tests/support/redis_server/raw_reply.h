// Parses RESP2 and RESP3 replies, so that a test can compare the raw bytes of a server.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rushgate/reply.h>

namespace rushgate::testing {

struct ParsedReply {
  Reply reply;
  std::size_t size;  // in bytes
};

/// Parses the reply at the beginning of `bytes`. Returns nothing if it is incomplete. Throws
/// std::runtime_error if it is invalid.
std::optional<ParsedReply> parse_raw_reply(std::string_view bytes);

struct RawOutput {
  std::vector<std::string> replies;
  std::vector<std::string> messages;  // of RESP3
};

/// Separates replies from messages. Redis 7.0 sends a message to the client that causes it before,
/// after, or in the middle of the reply. Throws std::runtime_error if the bytes are not complete.
RawOutput separate_messages(std::string_view bytes);

/// Returns the bytes escaped as in a C string, for messages. Long strings are cut in the middle.
std::string escaped(std::string_view bytes);

}  // namespace rushgate::testing
