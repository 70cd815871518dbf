-- The values of SaleKeys::held() and SaleKeys::deadlines() (docs/format.md, "Held orders").
--
-- hold_of(held, order), set_hold(held, order, hold or nil), deadline_of(orders), orders_of(deadline).
-- block_of(held, order) fails if the order cannot be held.
-- luacheck: push ignore 211
local blocks = {} -- that this script read

local function split_hold(hold) return string.match(hold, '^([^ ]+ [^ ]+ )(.*)$') end

local function read_block(held, name)
  local orders, last_rest = {}, nil
  local value, at = redis.call('HGET', held, name) or '', 1
  while at <= #value do
    local digit, size, begin = string.match(value, '^(%d) (%d+) ()', at)
    local ends = digit and begin + size
    local whose, rest
    if ends and string.sub(value, ends, ends) == '\n' then
      whose, rest = split_hold(string.sub(value, begin, ends - 1))
    end
    if rest == '=' then rest = last_rest end
    if not rest or orders[digit] then
      error('field ' .. name .. ' of ' .. held .. ' has no held orders')
    end
    orders[digit] = whose .. rest
    last_rest = rest
    at = ends + 1
  end
  return orders
end

local function is_order(order) return string.find(order, '^%d+$') ~= nil end

local function block_of(held, order)
  if not is_order(order) then error('an order id is a number') end
  local name = string.sub(order, 1, -2)
  if not blocks[name] then blocks[name] = read_block(held, name) end
  return blocks[name], name
end

-- Returns an order's hold, or its end; nil if there is none, or the id is no number.
local function hold_of(held, order)
  return is_order(order) and block_of(held, order)[string.sub(order, -1)] or nil
end

-- nil removes the order.
local function set_hold(held, order, hold)
  local orders, name = block_of(held, order)
  orders[string.sub(order, -1)] = hold
  local parts, last_rest = {}, nil
  for place = 0, 9 do
    local its_hold = orders[tostring(place)]
    if its_hold then
      local whose, rest = split_hold(its_hold)
      if rest == last_rest then its_hold = whose .. '=' end
      last_rest = rest
      parts[#parts + 1] = place .. ' ' .. #its_hold .. ' ' .. its_hold .. '\n'
    end
  end
  if #parts > 0 then
    redis.call('HSET', held, name, table.concat(parts))
  else
    redis.call('HDEL', held, name)
  end
end

-- Returns the member of the deadlines for these orders.
local function deadline_of(orders)
  local parts, last = {}, nil
  for _, order in ipairs(orders) do
    local name, digit = string.sub(order, 1, -2), string.sub(order, -1)
    if name == last then
      parts[#parts] = parts[#parts] .. digit
    else
      parts[#parts + 1], last = name .. ':' .. digit, name
    end
  end
  return table.concat(parts, ' ')
end

local function orders_of(deadline)
  local orders = {}
  for name, digits in string.gmatch(deadline, '(%d*):(%d+)') do
    for digit in string.gmatch(digits, '%d') do orders[#orders + 1] = name .. digit end
  end
  return orders
end
-- luacheck: pop
