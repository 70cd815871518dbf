#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/random_name.h"
#include "engine/core/client/reply_status.h"
#include "engine/recipes/option_ranges.h"
#include <rushgate/limits.h>
#include <rushgate/script.h>

namespace rushgate {
namespace {

// KEYS  1 permits: a sorted set, each scored by its expiry (ms since 1970)
// ARGV  1 maximum  2 lease (ms)  3 the new permit
// Returns 0 if the permit was granted, else the time until the next one expires (ms, at least 1).
const Script& permit_script() {
  static const Script* const kScript = new Script(R"lua(
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expires = string.format('%.0f', now + ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then
  local next = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  return math.max(1, next[2] - now)
end
redis.call('ZADD', KEYS[1], expires, ARGV[3])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0
)lua");
  return *kScript;
}

// KEYS  1 permits  ARGV  1 permit  2 the new lease (ms), 0 to release the permit
// Returns 1, or 0 if the permit has expired.
const Script& change_script() {
  static const Script* const kScript = new Script(R"lua(
local lease = tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expires = redis.call('ZSCORE', KEYS[1], ARGV[1])
if lease == 0 then redis.call('ZREM', KEYS[1], ARGV[1]) end
if not expires or tonumber(expires) <= now then return 0 end
if lease > 0 then
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + lease), ARGV[1])
  if redis.call('PTTL', KEYS[1]) < lease then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
end
return 1
)lua");
  return *kScript;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ConcurrencyLimit>> ConcurrencyLimit::create(
    Backend& backend, ConcurrencyLimitOptions options) {
  OptionRanges ranges("concurrency limit");
  ranges.check("the maximum", options.maximum, 1, kMaximumMax)
      .check("lease_ms", options.lease_ms, 1, kLeaseMsMax);
  if (!ranges.fault().ok()) return ranges.fault();
  return std::unique_ptr<ConcurrencyLimit>(new ConcurrencyLimit(backend, std::move(options)));
}

ConcurrencyLimit::ConcurrencyLimit(Backend& backend, ConcurrencyLimitOptions options)
    : options_(std::move(options)),
      maximum_(concat(options_.maximum)),
      lease_ms_(concat(options_.lease_ms)),
      client_(backend.open_client(options_.client)) {}

absl::StatusOr<ConcurrencyLimit::Acquired> ConcurrencyLimit::acquire(std::string_view name) {
  const std::string key = concat(options_.key_prefix, name);
  std::string permit = random_name();
  const std::string_view keys[] = {key};
  const std::string_view arguments[] = {maximum_, lease_ms_, permit};
  const Reply wait = client_->run(permit_script(), keys, arguments);
  if (!wait.is_integer()) return to_status(wait, "acquiring a permit");
  if (wait.integer() > 0) return Acquired{.permit = {}, .retry_after_ms = wait.integer()};
  return Acquired{.granted = true, .permit = std::move(permit)};
}

absl::StatusOr<bool> ConcurrencyLimit::renew(std::string_view name, std::string_view permit) {
  return change(name, permit, lease_ms_, "renewing a permit");
}

absl::StatusOr<bool> ConcurrencyLimit::release(std::string_view name, std::string_view permit) {
  return change(name, permit, "0", "releasing a permit");
}

absl::StatusOr<bool> ConcurrencyLimit::change(std::string_view name, std::string_view permit,
                                              std::string_view lease_ms, std::string_view doing) {
  const std::string key = concat(options_.key_prefix, name);
  const std::string_view keys[] = {key};
  const std::string_view arguments[] = {permit, lease_ms};
  const Reply reply = client_->run(change_script(), keys, arguments);
  if (!reply.is_integer()) return to_status(reply, doing);
  return reply.integer() == 1;
}

}  // namespace rushgate
