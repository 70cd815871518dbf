#include "engine/recipes/cache/cache_scripts.h"

namespace rushgate::cache_scripts {

const Script& fetch() {
  static const Script* const kScript = new Script(R"lua(
local value = redis.call('GET', KEYS[1])
if value then return {0, value} end
if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return {1} end
return {2, redis.call('PTTL', KEYS[2])}
)lua");
  return *kScript;
}

const Script& store() {
  static const Script* const kScript = new Script(R"lua(
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
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

const Script& invalidate() {
  static const Script* const kScript = new Script(R"lua(
redis.call('DEL', KEYS[1])
if redis.call('DEL', KEYS[2]) == 1 then redis.call('PUBLISH', ARGV[1], '0') end
return 1
)lua");
  return *kScript;
}

}  // namespace rushgate::cache_scripts
