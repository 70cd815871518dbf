// The conditions of SET and similar commands on the old value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/redis/commands/arguments.h"
#include "engine/redis/keyspace/string_value.h"
#include <rushgate/reply.h>

namespace rushgate {

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
