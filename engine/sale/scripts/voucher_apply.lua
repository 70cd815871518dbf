-- Puts a version of a voucher in force, if it is newer than the present one. The stock changes by the
-- difference of the published stocks.
--
-- KEYS  1 voucher  2 stock  3 buyers  4 vouchers  5 owner of the stream  6 waiting  7 lost requests
--       8 applied versions
-- ARGV  1 may be created (1/0)  2 the most buyers to convert to a hash of counts  3 its id
--       4 the database's identity  5 adopt (1/0)  6 its title  7… field and value of each of the terms
-- Returns one of voucher_codes.lua.
-- #include "voucher_codes.lua"

local voucher, stock_key, buyers = KEYS[1], KEYS[2], KEYS[3]
local converted_max, id, adopt = tonumber(ARGV[2]), ARGV[3], ARGV[5] == '1'

local identity = redis.call('HGET', KEYS[5], 'identity')
if not identity then return {UNCLAIMED} end
if identity ~= ARGV[4] then return {ANOTHERS} end

local new, now, there = {}, {}, {ALREADY_DONE}
for i = 7, #ARGV, 2 do new[ARGV[i]] = tonumber(ARGV[i + 1]) end
local hash = redis.call('HGETALL', voucher)
for i = 1, #hash, 2 do now[hash[i]] = hash[i + 1] end
for i = 7, #ARGV, 2 do there[#there + 1] = now[ARGV[i]] or false end

-- A database that loses the version gets it from here.
local function note_version()
  redis.call('XADD', KEYS[8], 'MAXLEN', '~', 10000, '*', 'voucher', id, 'title', ARGV[6], unpack(ARGV, 7))
end

if now.closed then return {BEING_REBUILT} end
if now.version and tonumber(now.version) >= new.version then
  redis.call('SADD', KEYS[4], id)
  if tonumber(now.version) == new.version then note_version() end
  return there
end

local free, admitted
local is_adopted = false
if now.version then
  local stock = redis.call('GET', stock_key)
  if not stock then return {MISSING} end
  free = tonumber(stock) + new.published - now.published
  -- After losses more may be sold than the present stock. That refuses only a smaller one.
  if free < 0 and new.published < tonumber(now.published) then return {REFUSED, -free} end
  admitted = now.admitted or now.published - stock
  local days_changed = new.per_day > 0 and
                       (tonumber(now.per_day or 0) <= 0 or tonumber(now.offset or 0) ~= new.offset)
  if days_changed and redis.call('EXISTS', buyers) == 1 then return {NEEDS_DAYS} end
elseif ARGV[1] == '1' then
  if redis.call('HEXISTS', KEYS[7], 'loss') == 1 then return {LOST_REQUESTS} end
  -- A listed voucher was on sale, and orders may be queued: it is rebuilt. An adoption that failed may
  -- have listed it, too. Then the other system's stock is there.
  local is_listed = redis.call('SISMEMBER', KEYS[4], id) == 1
  if is_listed and not (adopt and redis.call('EXISTS', stock_key) == 1) then return {MISSING} end
  free, admitted = new.published, 0
  if redis.call('EXISTS', stock_key, buyers) > 0 then
    free, admitted = tonumber(redis.call('GET', stock_key) or 0), redis.call('SCARD', buyers)
    if not adopt or free + admitted ~= new.published then return {FOREIGN, free, admitted} end
    is_adopted = true
  end
else
  return {MISSING}
end

-- Nothing that needs much memory may come after the first write to the buyers: a script that fails
-- keeps what it wrote. Hence the collection before it, and the one before the buyers are read.
local function replace_buyers(command, values, count)
  collectgarbage()
  redis.call('DEL', buyers)
  for i = 1, count, 1000 do
    redis.call(command, buyers, unpack(values, i, math.min(i + 999, count)))
  end
end

local function make_hash()
  collectgarbage()
  local users, values = redis.call('SMEMBERS', buyers), {}
  for i = 1, #users do values[2 * i - 1], values[2 * i] = users[i], 1 end
  replace_buyers('HSET', values, 2 * #users)
end

-- False if it has to stay a hash.
local function make_set()
  local count = redis.call('HLEN', buyers)
  local pieces = admitted + (now.given_back or 0) - (now.withheld or 0) + (now.moved or 0)
  if count > converted_max or count ~= pieces then return false end
  collectgarbage()
  local values = redis.call('HGETALL', buyers)
  for i = 1, count do
    if values[2 * i] ~= '1' then return false end
  end
  for i = 1, count do values[i] = values[2 * i - 1] end
  replace_buyers('SADD', values, count)
  return true
end

local was_counted, counted = now.counted == '1', new.per_user ~= 1
local to_hash = counted and not was_counted
if to_hash then
  local count = redis.call('SCARD', buyers)
  if count > converted_max then return {TOO_MANY_BUYERS, count} end
end
-- The first write: an id that is there too early, because what follows failed, does no harm.
redis.call('SADD', KEYS[4], id)
if to_hash then
  make_hash()
elseif was_counted and not counted then
  counted = not make_set()
end

-- Waiting users are served before others buy, at the latest when the window opens.
if new.waiting > 0 and redis.call('ZCARD', KEYS[6]) > 0 then
  redis.call('HSET', voucher, 'serve', 1)
else
  redis.call('HDEL', voucher, 'serve')
end

note_version()
-- The terms before the stock: a voucher without its stock is rebuilt.
redis.call('HSET', voucher, 'counted', counted and 1 or 0, unpack(ARGV, 7))
if is_adopted then redis.call('HSET', voucher, 'adopting', 1) end
redis.call('SET', stock_key, string.format('%.0f', free))
if new.total > 0 then
  redis.call('HSET', voucher, 'admitted', string.format('%.0f', admitted))
else
  redis.call('HDEL', voucher, 'admitted')
end
return {DONE}
