-- The sale of free pieces to waiting users, in the order of their arrival. A user at the limit is
-- dropped. It demands no purchase token: a user who waits has passed the entrance.
--
-- `keys` also has waiting, and orders.
-- #include "admission_rules.lua"
-- luacheck: push ignore 211

-- Returns how many users were served or dropped, at most `most`. Where it leaves users that could be
-- served, nobody else may buy until they are.
local function serve(terms, keys, id, most, now)
  local visited = 0
  if terms.waiting == 0 or refusal_of_time(terms, now) then return 0 end
  while visited < most and not refusal_of_stock(terms, keys, 1) do
    local user = redis.call('ZRANGE', keys.waiting, 0, 0)[1]
    if not user then break end
    local order = redis.call('HGET', keys.orders, user)
    local refusal, day, bought = refusal_of_user(terms, keys, user, 1, now)
    if order and not refusal then
      local due = sell(terms, keys, id, user, order, 1, day, bought, now, {})
      if due then redis.call('ZADD', keys.deadlines, due, deadline_of({order})) end
    end
    visited = visited + 1
    redis.call('ZREM', keys.waiting, user)
    redis.call('HDEL', keys.orders, user)
  end
  local leaves_users = visited == most and not refusal_of_stock(terms, keys, 1) and
                       redis.call('ZCARD', keys.waiting) > 0
  if leaves_users then
    redis.call('HSET', keys.voucher, 'serve', 1)
  elseif terms.serves_first then
    redis.call('HDEL', keys.voucher, 'serve')
  end
  return visited
end
-- luacheck: pop
