-- KEYS and ARGV as sliding_window_exact.lua. The window is a hash: the number of the window that `current`
-- counts, and the count of the one before. Returns {granted, remaining, us until one more is
-- granted}; the time assumes no other call. native_approximate() does the same.

local maximum, length = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local window = math.floor(now / length)

local known = redis.call('HMGET', KEYS[1], 'window', 'current', 'previous')
local before, current, previous = tonumber(known[1]), tonumber(known[2] or 0), tonumber(known[3] or 0)
if before and before < window then
  previous = before == window - 1 and current or 0
  current = 0
elseif before and before > window then  -- a clock that went back: from here on
  redis.call('HSET', KEYS[1], 'window', string.format('%.0f', window))
end

local elapsed = now - window * length
local count = previous * (length - elapsed) / length + current
if count + 1 > maximum + 0.000001 then
  local wait = length - elapsed
  if current + 1 <= maximum then  -- in this window, as the one before it fades
    wait = math.min(wait, (length - elapsed) - (maximum - current - 1) * length / previous)
  else  -- in the next one, as this one fades
    wait = wait + length - (maximum - 1) * length / current
  end
  return {0, 0, math.max(1, math.ceil(wait))}
end
redis.call('HSET', KEYS[1], 'window', string.format('%.0f', window), 'current', current + 1,
           'previous', previous)
redis.call('PEXPIRE', KEYS[1], math.ceil(2 * length / 1000))
return {1, math.floor(maximum - count - 1), 0}
