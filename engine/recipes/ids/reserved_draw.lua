-- Draws counters. Returns the last one drawn, or 0 if both the counter and the third argument are
-- missing.
-- KEYS the counter.
-- ARGV how many, the number that the counter must exceed, its beginning if it is missing or too
-- low.

local drawn = redis.call('GET', KEYS[1])
if ARGV[3] then
  if not drawn or tonumber(drawn) < tonumber(ARGV[2]) then redis.call('SET', KEYS[1], ARGV[3]) end
elseif not drawn then
  return 0
end
return redis.call('INCRBY', KEYS[1], ARGV[1])
