#include "engine/redis/commands/expiry_arguments.h"

#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/field_errors.h"
#include "engine/redis/keyspace/object.h"

namespace rushgate {
namespace {

struct ExpiryOption {
  std::string_view keyword;
  const ExpiryScale& scale;
};

constexpr ExpiryOption kExpiryOptions[] = {
    {"EX", kSecondsFromNow},
    {"PX", kMsFromNow},
    {"EXAT", kUnixSeconds},
    {"PXAT", kUnixMs},
};

}  // namespace

std::optional<std::int64_t> ExpiryScale::time_ms(std::int64_t amount, std::int64_t now_ms,
                                                 std::int64_t max_ms) const {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  const std::int64_t start = start_ms(now_ms);
  if (amount < kMin / unit_ms || amount > max_ms / unit_ms || amount * unit_ms > max_ms - start)
    return std::nullopt;
  return amount * unit_ms + start;
}

const ExpiryScale* accept_expiry_option(Arguments& arguments) {
  for (const ExpiryOption& option : kExpiryOptions) {
    if (arguments.accept(option.keyword)) return &option.scale;
  }
  return nullptr;
}

// ---- Commands on strings ----

bool accept_expiry(Arguments& arguments, ExpiryArgument& expiry) {
  const ExpiryScale* const scale = accept_expiry_option(arguments);
  if (scale == nullptr) return false;
  if (expiry.scale != nullptr && expiry.scale != scale) arguments.fail(errors::syntax());
  expiry = {scale, arguments.next()};
  return true;
}

std::int64_t string_expiry(Arguments& arguments, std::string_view command, std::int64_t amount,
                           const ExpiryScale& scale, std::int64_t now_ms) {
  if (!arguments.ok()) return kNoExpiry;
  const std::optional<std::int64_t> expire_at_ms = scale.time_ms(amount, now_ms);
  if (amount > 0 && expire_at_ms) return *expire_at_ms;
  arguments.fail(errors::invalid_expire_time(command));
  return kNoExpiry;
}

std::int64_t read_expiry(Arguments& arguments, std::string_view command,
                         const ExpiryArgument& expiry, std::int64_t now_ms) {
  if (expiry.scale == nullptr) return kNoExpiry;
  const std::int64_t amount = arguments.to_integer(expiry.text);
  return string_expiry(arguments, command, amount, *expiry.scale, now_ms);
}

// ---- Commands on the fields of a hash ----

std::int64_t next_field_expiry(Arguments& arguments, std::string_view command,
                               const ExpiryScale& scale, std::int64_t now_ms) {
  constexpr std::int64_t kMaxMs = (std::int64_t{1} << 46) - 1;  // in the year 4199, as in Redis
  const std::int64_t amount = arguments.next_integer();
  if (amount < 0) arguments.fail(errors::negative_expire_time());
  const std::optional<std::int64_t> expire_at_ms = scale.time_ms(amount, now_ms, kMaxMs);
  if (!expire_at_ms) arguments.fail(errors::invalid_expire_time(command));
  return arguments.ok() ? *expire_at_ms : 0;
}

std::optional<std::int64_t> accept_field_expiry(Arguments& arguments, std::string_view command,
                                                std::int64_t now_ms) {
  const ExpiryScale* const scale = accept_expiry_option(arguments);
  if (scale == nullptr) return std::nullopt;
  return next_field_expiry(arguments, command, *scale, now_ms);
}

}  // namespace rushgate
