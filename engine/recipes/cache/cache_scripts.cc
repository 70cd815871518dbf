#include "engine/recipes/cache/cache_scripts.h"

#include <string>

namespace rushgate::cache_scripts {
namespace {

/// Returns how long a caller may sleep without a message (ms; -1: for ever). A load of another
/// system ends silently: a lock that does not name a load as CacheCore does is looked at often.
constexpr char kSleepPrelude[] = R"lua(
local function sleep_ms()
  local left = redis.call('PTTL', KEYS[2])
  local holder = redis.pcall('GET', KEYS[2])
  local client = type(holder) == 'string' and string.match(holder, '^(%x+):%d+$')
  if client and #client == 16 then return left end
  return left < 0 and 100 or math.min(left, 100)
end
)lua";

}  // namespace

const Script& fetch() {
  static const Script* const kScript = new Script(std::string(kSleepPrelude) + R"lua(
local value = redis.call('GET', KEYS[1])
if value then return {0, value} end
if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return {1} end
return {2, sleep_ms()}
)lua");
  return *kScript;
}

const Script& fetch_with_expiry() {
  static const Script* const kScript = new Script(std::string(kSleepPrelude) + R"lua(
local known = redis.call('GET', KEYS[1])
local colon = known and string.find(known, ':', 1, true)
local expires_at = colon and tonumber(string.sub(known, 1, colon - 1))
local value
if expires_at then
  value = string.sub(known, colon + 1)
  local time = redis.call('TIME')
  if time[1] * 1000 + math.floor(time[2] / 1000) < expires_at then return {0, value} end
end
if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then
  if value then return {3, value} end
  return {1}
end
if value then return {4, value} end
return {2, sleep_ms()}
)lua");
  return *kScript;
}

const Script& store() {
  static const Script* const kScript = new Script(R"lua(
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
local value, ttl, stale = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
if stale > 0 then
  local time = redis.call('TIME')
  value = string.format('%.0f:', time[1] * 1000 + math.floor(time[2] / 1000) + ttl) .. value
end
redis.call('SET', KEYS[1], value, 'PX', string.format('%.0f', ttl + stale))
redis.call('DEL', KEYS[2])
redis.call('PUBLISH', ARGV[2], '1')
return 1
)lua");
  return *kScript;
}

const Script& abandon() {
  static const Script* const kScript = new Script(R"lua(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[2], '0')
return 1
)lua");
  return *kScript;
}

const Script& hold_off() {
  static const Script* const kScript = new Script(R"lua(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
)lua");
  return *kScript;
}

const Script& invalidate() {
  static const Script* const kScript = new Script(R"lua(
redis.call('DEL', KEYS[1])
if redis.call('DEL', KEYS[2]) == 1 then redis.call('PUBLISH', ARGV[1], '0') end
redis.call('PUBLISH', ARGV[2], ARGV[3])
return 1
)lua");
  return *kScript;
}

}  // namespace rushgate::cache_scripts
