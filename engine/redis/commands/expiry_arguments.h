// Expiries in the arguments of commands: their units, and the options EX, PX, EXAT and PXAT.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "engine/redis/commands/arguments.h"

namespace rushgate {

/// How a command counts an expiry.
struct ExpiryScale {
  std::int64_t unit_ms;
  bool from_now;  // otherwise since 1970 UTC

  [[nodiscard]] std::int64_t start_ms(std::int64_t now_ms) const { return from_now ? now_ms : 0; }
  /// Returns the time after `amount` units, which may be in the past. Empty if it is after `max_ms`,
  /// or if ms overflow.
  [[nodiscard]] std::optional<std::int64_t> time_ms(
      std::int64_t amount, std::int64_t now_ms,
      std::int64_t max_ms = std::numeric_limits<std::int64_t>::max()) const;
};

inline constexpr ExpiryScale kSecondsFromNow = {.unit_ms = 1000, .from_now = true};
inline constexpr ExpiryScale kMsFromNow = {.unit_ms = 1, .from_now = true};
inline constexpr ExpiryScale kUnixSeconds = {.unit_ms = 1000, .from_now = false};
inline constexpr ExpiryScale kUnixMs = {.unit_ms = 1, .from_now = false};

/// Reads EX, PX, EXAT or PXAT, if it comes next, without its value. Otherwise returns null.
const ExpiryScale* accept_expiry_option(Arguments& arguments);

// ---- Commands on strings ----

/// EX, PX, EXAT or PXAT with its value, if given. If repeated, the last one counts.
struct ExpiryArgument {
  const ExpiryScale* scale = nullptr;
  std::string_view text;
};

/// EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds.
/// Returns false if the next argument is none of them.
bool accept_expiry(Arguments& arguments, ExpiryArgument& expiry);

/// Returns the time after `amount` units. Unlike EXPIRE, commands on strings reject amounts of zero
/// or less.
std::int64_t string_expiry(Arguments& arguments, std::string_view command, std::int64_t amount,
                           const ExpiryScale& scale, std::int64_t now_ms);

/// Returns the time of the option; kNoExpiry if there is none.
std::int64_t read_expiry(Arguments& arguments, std::string_view command,
                         const ExpiryArgument& expiry, std::int64_t now_ms);

// ---- Commands on the fields of a hash ----

/// Reads a number of units, and returns the time after them, which may be in the past.
std::int64_t next_field_expiry(Arguments& arguments, std::string_view command,
                               const ExpiryScale& scale, std::int64_t now_ms);

/// Reads EX, PX, EXAT or PXAT with its time, if it comes next.
std::optional<std::int64_t> accept_field_expiry(Arguments& arguments, std::string_view command,
                                                std::int64_t now_ms);

}  // namespace rushgate
