// Replies and requests as Redis 7.0 sends and reads them.
// Format: https://redis.io/docs/latest/develop/reference/protocol-spec/
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate {

inline constexpr std::string_view kLineEnd = "\r\n";

enum class RespVersion { k2 = 2, k3 = 3 };

// All functions append to `out` and are thread-safe.

/// Appends a reply. With RespVersion::k2, RESP3's kinds are converted (to_resp2()). CR and LF in
/// statuses and errors become spaces, as in Redis.
void append_reply(const Reply& reply, RespVersion version, std::string& out);

/// Appends the part of an aggregate before its elements. Appends nothing for Reply::Kind::kSeveral.
void append_aggregate_header(const Reply& reply, RespVersion version, std::string& out);
/// Appends the part of a bulk string before its bytes, which CR and LF follow.
void append_bulk_header(std::size_t bytes, std::string& out);

/// Appends an array of bulk strings.
void append_request(const Request& request, std::string& out);

}  // namespace rushgate
