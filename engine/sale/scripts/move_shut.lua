-- Closes a voucher in a keyspace that is being left. A rebuild that is under way has lost its claim.
--
-- KEYS owner of the stream, voucher, held. ARGV the mark of such a keyspace, the voucher's id
-- Returns 1, or 0 in any other keyspace.

if redis.call('HGET', KEYS[1], 'identity') ~= ARGV[1] then return 0 end
if redis.call('EXISTS', KEYS[2]) == 1 then
  redis.call('HSET', KEYS[2], 'closed', 'moved:', 'closed_run', '', 'closed_at', 0)
end
redis.call('HSET', KEYS[3], 'closed:' .. ARGV[2], 'moved:')
return 1
