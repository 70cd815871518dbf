-- KEYS discarded letters, index. ARGV letter, its order or ''

if redis.call('HGET', KEYS[2], ARGV[2]) == 'discarded ' .. ARGV[1] then
  redis.call('HDEL', KEYS[2], ARGV[2])
end
return redis.call('XDEL', KEYS[1], ARGV[1])
