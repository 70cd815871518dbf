#!/bin/sh
# Uses redis-cli with RESP3. Usage: redis_cli.sh <socket>
exec redis-cli -3 -s "$1" --no-raw <<'REQUESTS'
FLUSHALL
SET k v
HSET h a 1
HGETALL h
SADD s a
SMEMBERS s
ZADD z 1.5 a
ZRANGE z 0 -1 WITHSCORES
ZSCORE z a
GET none
LPOP none
LPUSH k x
EVAL "redis.setresp(3); return {true, false, {double=1.5}, {map={a=1}}, {set={a=true}}}" 0
EVAL "return {1, 'two', false}" 0
XADD s1 1-1 a b
XREAD STREAMS s1 0
CONFIG GET maxmemory
MULTI
HGETALL h
INCR k
EXEC
GEOADD g 13.361389 38.115556 Palermo
GEOPOS g Palermo none
CLIENT TRACKING ON
GET k
SET k w
REQUESTS
