#include "engine/redis/commands/value_condition.h"

#include <cstddef>
#include <string>

#include "absl/strings/str_format.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/keyspace/hashing.h"

namespace rushgate {
namespace {

constexpr std::size_t kDigestDigits = 16;

struct ConditionWord {
  std::string_view word;
  ValueCondition condition;
};

constexpr ConditionWord kConditions[] = {
    {"IFEQ", {.is_digest = false, .wants_equal = true}},
    {"IFNE", {.is_digest = false, .wants_equal = false}},
    {"IFDEQ", {.is_digest = true, .wants_equal = true}},
    {"IFDNE", {.is_digest = true, .wants_equal = false}},
};

}  // namespace

std::optional<ValueCondition> parse_condition(std::string_view word) {
  for (const ConditionWord& known : kConditions) {
    if (is_keyword(word, known.word)) return known.condition;
  }
  return std::nullopt;
}

std::optional<ValueCondition> accept_condition(Arguments& arguments) {
  for (const auto& [word, condition] : kConditions) {
    if (!arguments.accept(word)) continue;
    ValueCondition accepted = condition;
    accepted.operand = arguments.next();
    return accepted;
  }
  return std::nullopt;
}

std::optional<Reply> check_condition(const ValueCondition& condition, const StringValue& value,
                                     bool& holds) {
  if (condition.is_digest && condition.operand.size() != kDigestDigits)
    return errors::not_a_digest();
  const bool is_equal = condition.is_digest ? equal_in_any_case(digest_of(value), condition.operand)
                                            : value.bytes() == condition.operand;
  holds = is_equal == condition.wants_equal;
  return std::nullopt;
}

std::string digest_of(const StringValue& value) {
  return absl::StrFormat("%0*x", static_cast<int>(kDigestDigits), hash_bytes(value.bytes(), 0));
}

}  // namespace rushgate
