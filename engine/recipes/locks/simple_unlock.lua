-- Deletes the lock of an owner. KEYS the lock. ARGV the owner. Returns 1 if it was the owner's,
-- else 0.

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
