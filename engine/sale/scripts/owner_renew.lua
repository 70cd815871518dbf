-- KEYS owner of the stream. ARGV as of lease.lua. Without an owner, the next draw or claim finds it lost.
-- #include "lease.lua"

if redis.call('HGET', owner, 'identity') ~= identity then return 0 end
local other = find_other_copy()
if other then return other end
tell_recorded()
return 0
