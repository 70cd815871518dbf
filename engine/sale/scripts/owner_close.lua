-- Closes the admission of a voucher while the database lacks orders that the stream no longer has. Nobody
-- rebuilds it before that is accepted (owner_rewind.lua).
-- KEYS owner of the stream, voucher

if redis.call('HEXISTS', KEYS[1], 'missing') == 0 or redis.call('EXISTS', KEYS[2]) == 0 then return 0 end
redis.call('HSET', KEYS[2], 'closed', 'missing:', 'closed_run', '', 'closed_at', 0)
return 1
