// How long a request may block on the server.
#pragma once

#include <cstdint>
#include <optional>

#include <rushgate/request.h>

namespace rushgate {

/// Returns the timeout of a blocking command in ms; 0: no limit. Empty if the command does not
/// block, or the server will refuse its timeout.
std::optional<std::int64_t> block_timeout_ms(const Request& request);

}  // namespace rushgate
