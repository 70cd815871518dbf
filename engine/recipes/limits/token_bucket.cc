#include "engine/recipes/limits/token_bucket.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "engine/base/concat.h"
#include "engine/base/numbers.h"
#include "engine/client/native_script.h"
#include "engine/client/reply_status.h"
#include "engine/client/script.h"

namespace rushgate {
namespace {

constexpr char kNativeTake[] = "rushgate_token_bucket";

// KEYS  1 bucket
// ARGV  1 tokens  2 capacity  3 how long an empty bucket takes to be full (us)
// The bucket is "<us since 1970> <how long until it was full, seen from there, in us>"; none: full.
// Returns {granted, remaining, us until it can be granted}. native_take() does the same.
const Script& take_script() {
  static const Script* const kScript = new Script(R"lua(
local tokens, capacity, refill = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local at, missing = now, 0
local bucket = redis.call('GET', KEYS[1])
if bucket then
  local known_at, known_missing = string.match(bucket, '^(%d+) (%S+)$')
  at, missing = tonumber(known_at), tonumber(known_missing)
  if not at or not missing then return redis.error_reply('ERR not a token bucket: ' .. KEYS[1]) end
  missing = math.min(refill, math.max(0, missing - math.max(0, now - at)))
end

local cost = tokens * refill / capacity
local wait = missing + cost - refill
local granted = wait < 0.001 and 1 or 0
if granted == 1 then
  missing = missing + cost
  wait = 0
end
if granted == 1 or at > now then
  redis.call('SET', KEYS[1], string.format('%.0f %.17g', now, missing),
             'PX', string.format('%.0f', math.ceil(missing / 1000) + 1))
end
local remaining = math.floor((refill - missing) * capacity / refill + 0.001)
return {granted, remaining, math.ceil(wait)}
)lua",
                                                  kNativeTake);
  return *kScript;
}

/// take_script() in C++.
Reply native_take(NativeCall& call) {
  constexpr double kUsPerMs = 1'000;
  constexpr double kNearly = 0.001;
  std::array<double, 3> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = parse_double(call.argument(i));
    if (!number) throw ScriptError("ERR value is not a valid float");
    numbers[i] = *number;
  }
  const auto [tokens, capacity, refill] = numbers;
  const auto now = static_cast<double>(call.now_ms()) * kUsPerMs;

  double at = now;
  double missing = 0;
  const Reply bucket = call.call(Request::of("GET", call.key(0)));
  if (bucket.is_error()) throw ScriptError(bucket.text());
  if (!bucket.is_nil()) {
    const std::string_view text = bucket.text();
    const std::size_t space = std::min(text.find(' '), text.size());
    const auto known_at = parse_double(text.substr(0, space));
    const auto known_missing = parse_double(text.substr(std::min(space + 1, text.size())));
    if (!known_at || !known_missing) {
      throw ScriptError(concat("ERR not a token bucket: ", call.key(0)));
    }
    at = *known_at;
    missing = std::min(refill, std::max(0.0, *known_missing - std::max(0.0, now - at)));
  }

  const double cost = tokens * refill / capacity;
  double wait = missing + cost - refill;
  const bool is_granted = wait < kNearly;
  if (is_granted) {
    missing += cost;
    wait = 0;
  }
  if (is_granted || at > now) {
    const Reply set =
        call.call(Request::of("SET", call.key(0), absl::StrFormat("%.0f %.17g", now, missing), "PX",
                              static_cast<std::int64_t>(std::ceil(missing / kUsPerMs)) + 1));
    if (set.is_error()) throw ScriptError(set.text());
  }
  const double remaining = std::floor((refill - missing) * capacity / refill + kNearly);
  return Reply::array({Reply::integer(is_granted ? 1 : 0),
                       Reply::integer(static_cast<std::int64_t>(remaining)),
                       Reply::integer(static_cast<std::int64_t>(std::ceil(wait)))});
}

absl::Status out_of_range(std::string_view what, std::int64_t value, std::int64_t maximum) {
  return absl::InvalidArgumentError(
      concat("token bucket: ", what, " is ", value, ", and must be from 1 to ", maximum));
}

}  // namespace

absl::StatusOr<std::unique_ptr<TokenBucket>> TokenBucket::create(Backend& backend,
                                                                 TokenBucketOptions options) {
  if (options.capacity < 1 || options.capacity > kCapacityMax) {
    return out_of_range("the capacity", options.capacity, kCapacityMax);
  }
  if (options.refill_ms < 1 || options.refill_ms > kRefillMsMax) {
    return out_of_range("refill_ms", options.refill_ms, kRefillMsMax);
  }
  const NamedScript native = {.name = kNativeTake, .script = native_take};
  backend.add_native_scripts({&native, 1});
  return std::unique_ptr<TokenBucket>(new TokenBucket(backend, std::move(options)));
}

TokenBucket::TokenBucket(Backend& backend, TokenBucketOptions options)
    : options_(std::move(options)),
      capacity_(concat(options_.capacity)),
      refill_us_(concat(options_.refill_ms * 1'000)),
      client_(backend.open_client(options_.client)) {}

absl::StatusOr<Permission> TokenBucket::take(std::string_view name, std::int64_t tokens) {
  if (tokens < 1 || tokens > options_.capacity) {
    return out_of_range("the number of tokens asked for", tokens, options_.capacity);
  }
  const std::string key = concat(options_.key_prefix, name);
  const std::string tokens_text = concat(tokens);
  const std::string_view keys[] = {key};
  const std::string_view arguments[] = {tokens_text, capacity_, refill_us_};
  return to_permission(client_->run(take_script(), keys, arguments), "taking of a token bucket");
}

}  // namespace rushgate
