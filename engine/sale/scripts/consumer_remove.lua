-- KEYS order stream. ARGV group, consumer
--
-- Removing a consumer also removes its pending entries, so it must have none.

if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2]) > 0 then return 0 end
return redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
