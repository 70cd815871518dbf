-- KEYS stream  ARGV  1 length_max  2 field  3 body. Returns 1, or 0 if the stream is full.

if redis.call('XLEN', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('XADD', KEYS[1], '*', ARGV[2], ARGV[3])
return 1
