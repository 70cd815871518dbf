-- The waiting list: admission to it, and the sale of free pieces to waiting users, in the order of
-- their arrival. A user at the limit is dropped.
--
-- `keys` has voucher, stock, buyers, days, deadlines, held, stream, waiting and orders.
-- #include "entry_time.lua"
-- #include "held_orders.lua"
-- #include "give_back.lua"
-- luacheck: push ignore 211
-- Returns the day of an order that is admitted now, and the pieces bought on it; nil if the user may not
-- buy one more piece.
local function allowance_of(terms, keys, user, now)
  if terms.counted then
    local bought = tonumber(redis.call('HGET', keys.buyers, user) or 0)
    if terms.per_user > 0 and bought >= terms.per_user then return nil end
  elseif redis.call('SISMEMBER', keys.buyers, user) == 1 then
    return nil
  end
  if terms.per_day == 0 then return 0, 0 end
  local today = math.floor((time_of_next_entry(keys.stream, now) + terms.offset * 60000) / 86400000)
  local day, count = string.match(redis.call('HGET', keys.days, user) or '', '^(%-?%d+):(%d+)$')
  if not day or tonumber(day) < today then return today, 0 end
  if tonumber(count) >= terms.per_day then return nil end
  return tonumber(day), tonumber(count)
end

local function is_total_reached(terms, keys)
  if terms.total == 0 then return false end
  return tonumber(redis.call('HGET', keys.voucher, 'admitted') or 0) >= terms.total
end

-- `day` and `count`: as allowance_of() returns them.
local function sell(terms, keys, id, user, order, day, count, now)
  local due = string.format('%.0f', now + terms.pay_ms)
  local entry = {'userId', user, 'voucherId', id, 'id', order, 'limit', terms.per_user,
                 'version', terms.version, 'price', terms.price}
  if terms.pay_ms > 0 then
    entry[#entry + 1] = 'due'
    entry[#entry + 1] = due
  end
  local admitted = append_entry(keys.stream, now, unpack(entry))
  redis.call('DECR', keys.stock)
  if terms.counted then redis.call('HINCRBY', keys.buyers, user, 1) else redis.call('SADD', keys.buyers, user) end
  if terms.per_day > 0 then redis.call('HSET', keys.days, user, day .. ':' .. (count + 1)) end
  if terms.total > 0 then redis.call('HINCRBY', keys.voucher, 'admitted', 1) end
  if terms.pay_ms > 0 then
    redis.call('ZADD', keys.deadlines, due, deadline_of({order}))
    set_hold(keys.held, order, id .. ' ' .. user .. ' 1 ' .. terms.price .. ' ' ..
                               string.match(admitted, '^%d+') .. ' ' .. due)
  end
end

-- Returns how many users were served or dropped, at most `most`. Where it leaves users that could be
-- served, nobody else may buy until they are.
local function serve(terms, keys, id, most, now)
  local visited = 0
  if terms.waiting == 0 or now < terms.begins or now >= terms.ends then return 0 end
  while visited < most and tonumber(redis.call('GET', keys.stock)) > 0 and not is_total_reached(terms, keys) do
    local user = redis.call('ZRANGE', keys.waiting, 0, 0)[1]
    if not user then break end
    local order = redis.call('HGET', keys.orders, user)
    local day, count
    if order then day, count = allowance_of(terms, keys, user, now) end
    if day then sell(terms, keys, id, user, order, day, count, now) end
    visited = visited + 1
    redis.call('ZREM', keys.waiting, user)
    redis.call('HDEL', keys.orders, user)
  end
  local leaves_users = visited == most and tonumber(redis.call('GET', keys.stock)) > 0 and
                       not is_total_reached(terms, keys) and redis.call('ZCARD', keys.waiting) > 0
  if leaves_users then
    redis.call('HSET', keys.voucher, 'serve', 1)
  elseif terms.serves_first then
    redis.call('HDEL', keys.voucher, 'serve')
  end
  return visited
end
-- luacheck: pop
