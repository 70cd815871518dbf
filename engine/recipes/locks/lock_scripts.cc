#include "engine/recipes/locks/lock_scripts.h"

namespace rushgate {

const Script& acquire_script() {
  static const Script script(R"lua(
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then
  return {0, redis.call('PTTL', KEYS[1])}
end
local token = 0
if KEYS[2] then token = redis.call('INCR', KEYS[2]) end
redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return {1, token}
)lua");
  return script;
}

const Script& release_script() {
  static const Script script(R"lua(
local known = KEYS[3] and redis.call('GET', KEYS[3])
if known then return tonumber(known) end
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return false end
local is_free = 0
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
else
  is_free = 1
  redis.call('DEL', KEYS[1])
  redis.call('PUBLISH', KEYS[2], '0')
end
if KEYS[3] then redis.call('SET', KEYS[3], is_free, 'PX', ARGV[3]) end
return is_free
)lua");
  return script;
}

const Script& renew_script() {
  static const Script script(R"lua(
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
)lua");
  return script;
}

}  // namespace rushgate
