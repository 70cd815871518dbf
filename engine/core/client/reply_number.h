// Numbers that replies carry as strings.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/core/base/numbers.h"
#include <rushgate/reply.h>

namespace rushgate {

/// Returns the number in a bulk or simple string; empty for any other reply, and for no number.
inline std::optional<std::int64_t> number_in(const Reply& reply) {
  return reply.is_text() ? parse_int64(reply.text()) : std::nullopt;
}

}  // namespace rushgate
