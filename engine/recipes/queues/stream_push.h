// The operations that the queues on streams share.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include <rushgate/client.h>
#include <rushgate/queues.h>

namespace rushgate {

/// Appends to the stream. If it has `length_max` entries, returns kResourceExhausted with
/// `size_max` in its message.
absl::Status push_to_stream(Client& client, std::string_view stream, std::string_view field,
                            std::int64_t length_max, std::int64_t size_max, std::string_view body);

/// Reads the reply of XREAD or XREADGROUP for one stream: each entry's id, the value of `field`,
/// and one delivery. Returns nothing for any other reply.
std::optional<std::vector<QueueMessage>> read_stream_messages(const Reply& reply,
                                                              std::string_view field);

}  // namespace rushgate
