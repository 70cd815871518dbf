#include "engine/commands/string_arguments.h"

#include <cstddef>
#include <limits>
#include <string>

#include "absl/strings/str_format.h"
#include "engine/commands/errors.h"
#include "engine/keyspace/hashing.h"
#include "engine/keyspace/object.h"

namespace rushgate {
namespace {

constexpr std::size_t kDigestDigits = 16;

constexpr ExpiryOption kExpiryOptions[] = {
    {"EX", 1000, true},
    {"PX", 1, true},
    {"EXAT", 1000, false},
    {"PXAT", 1, false},
};

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

bool accept_expiry(Arguments& arguments, ExpiryArgument& expiry) {
  for (const ExpiryOption& option : kExpiryOptions) {
    if (!arguments.accept(option.keyword)) continue;
    if (expiry.option != nullptr && expiry.option != &option) arguments.fail(errors::syntax());
    expiry = {&option, arguments.next()};
    return true;
  }
  return false;
}

std::int64_t to_expiry(Arguments& arguments, std::string_view command, std::int64_t amount,
                       std::int64_t unit_ms, std::int64_t start_ms) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  if (!arguments.ok()) return kNoExpiry;
  if (amount <= 0 || amount > kMax / unit_ms || amount * unit_ms > kMax - start_ms) {
    arguments.fail(errors::invalid_expire_time(command));
    return kNoExpiry;
  }
  return start_ms + amount * unit_ms;
}

std::int64_t read_expiry(Arguments& arguments, std::string_view command,
                         const ExpiryArgument& expiry, std::int64_t now_ms) {
  if (expiry.option == nullptr) return kNoExpiry;
  const auto [keyword, unit_ms, from_now] = *expiry.option;
  const std::int64_t amount = arguments.to_integer(expiry.text);
  return to_expiry(arguments, command, amount, unit_ms, from_now ? now_ms : 0);
}

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
