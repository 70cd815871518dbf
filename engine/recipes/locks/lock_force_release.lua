-- KEYS  1 lock … channel. Returns 1 if any owner held it, else 0.

local was_locked = redis.call('DEL', KEYS[1])
if was_locked == 1 then redis.call('PUBLISH', KEYS[#KEYS], '0') end
return was_locked
