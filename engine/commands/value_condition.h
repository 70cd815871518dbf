// Arguments that several commands on strings have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/commands/arguments.h"
#include "engine/keyspace/string_value.h"
#include <rushgate/reply.h>

namespace rushgate {

// ---- The expiry ----

struct ExpiryOption {
  std::string_view keyword;
  std::int64_t unit_ms;
  bool from_now;
};

/// EX, PX, EXAT or PXAT with its value, if given. If repeated, the last one counts.
struct ExpiryArgument {
  const ExpiryOption* option = nullptr;
  std::string_view text;
};

/// EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds.
/// Returns false if the next argument is none of them.
bool accept_expiry(Arguments& arguments, ExpiryArgument& expiry);

/// Returns the time `amount` units after `start_ms`. Unlike EXPIRE, commands on strings reject
/// times of zero or less.
std::int64_t to_expiry(Arguments& arguments, std::string_view command, std::int64_t amount,
                       std::int64_t unit_ms, std::int64_t start_ms);

/// Returns the time of the option; kNoExpiry if there is none.
std::int64_t read_expiry(Arguments& arguments, std::string_view command,
                         const ExpiryArgument& expiry, std::int64_t now_ms);

// ---- The condition on the old value ----

/// IFEQ, IFNE, IFDEQ or IFDNE with its operand. See the page of SET.
struct ValueCondition {
  bool is_digest = false;
  bool wants_equal = true;
  std::string_view operand = {};  // the value, or its digest in hexadecimal digits of any case
};

/// Parses the word of a condition, without its operand. Empty if it is none of them.
std::optional<ValueCondition> parse_condition(std::string_view word);

/// Reads a condition, if it comes next.
std::optional<ValueCondition> accept_condition(Arguments& arguments);

/// Sets `holds` to whether the value fulfils the condition. Returns an error if the operand is not
/// as long as a digest.
std::optional<Reply> check_condition(const ValueCondition& condition, const StringValue& value,
                                     bool& holds);

/// Returns the digest of a value, as DIGEST does: XXH3 in 16 hexadecimal digits.
std::string digest_of(const StringValue& value);

}  // namespace rushgate
