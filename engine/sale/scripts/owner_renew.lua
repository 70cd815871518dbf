-- KEYS owner of the stream. ARGV as of lease.lua. Without an owner, the next draw or claim finds it lost.
-- #include "lease.lua"

if redis.call('HGET', owner, 'identity') ~= identity then return 0 end
return find_other_copy() or 0
