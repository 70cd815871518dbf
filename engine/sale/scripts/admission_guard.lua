-- An entry gets its time from the script's XADD, which may be after the end of the sale although the
-- decision was before it. Then the entry is appended once more, with the time of the decision.
--
-- Returns the number of KEYS that are the sale's, the reply if the script must not run, the check of
-- the script's code, and the script's `redis` and `server`. With an idempotency key, these add the
-- key to the entry that the script appends. The names in capitals are replaced. All of it becomes
-- one line, without the comments.

(function(KEYS, ARGV)
-- #include "admission_window.lua"
  local request = ARGV[1] == '1' and KEYS[5]
  local own, voucher, user, order = request and 5 or 4, ARGV[2], ARGV[3], ARGV[4]
  local key, key_until = request and ARGV[6] or nil, nil

  if request then
    local known = redis.call('GET', request)
    if known then
      local its_user, its_voucher, its_order = string.match(known, '^(%S+) (%S+) %d+ (%S+)$')
      if its_user ~= user or its_voucher ~= voucher then return own, {KEY_REUSED} end
      return own, {ACCEPTED, its_order}
    end
  end

  local terms = redis.call('HMGET', KEYS[1], 'closed', 'begin', 'end', 'counted', 'per_user', 'total', 'per_day',
                           'waiting', 'token')
  local ends = tonumber(terms[3])
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  if request then key_until = string.format('%.0f', now + ARGV[5]) end
  local refusal = refusal_of_time({closed = terms[1], begins = tonumber(terms[2]), ends = ends}, now)
  if refusal then return own, {refusal} end

  local counted, per_user = terms[4] == '1', tonumber(terms[5])
  local is_kept = COUNTS_BUYERS or not counted and per_user == 1
  if not is_kept or tonumber(terms[6]) > 0 or tonumber(terms[7]) > 0 or tonumber(terms[8] or 0) > 0 or
     terms[9] == '1' then
    return own, redis.error_reply('ERR voucher ' .. voucher ..
                                  ' has a limit, a waiting list or a token that the admission script does not keep')
  end
  local stock = redis.call('GET', KEYS[2])
  if not stock then return own, {STOCK_MISSING} end
  if not string.match(stock, '^%-?%d+$') then
    return own, redis.error_reply('ERR value is not an integer or out of range')
  end

  local function state()
    local bought
    if counted then
      bought = tonumber(redis.call('HGET', KEYS[3], user) or 0)
    else
      bought = redis.call('SISMEMBER', KEYS[3], user)
    end
    return {stock = tonumber(redis.call('GET', KEYS[2]) or ''), bought = bought,
            entries = redis.call('XLEN', KEYS[4])}
  end
  local before = state()

  local function shown(value)
    return type(value) == 'number' and string.format('%.0f', value) or 'nothing'
  end
  local function fail(what) error({err = 'ADMISSION the script ' .. what}) end

  local function check_entry()
    local fields, expected = {}, {userId = user, voucherId = voucher, id = order, limit = terms[5],
                                  request_key = key, request_until = key_until}
    local id, entry = unpack(redis.call('XREVRANGE', KEYS[4], '+', '-', 'COUNT', 1)[1])
    for i = 1, #entry, 2 do fields[entry[i]] = fields[entry[i]] or entry[i + 1] end
    for _, name in ipairs({'userId', 'voucherId', 'id', 'limit', 'request_key', 'request_until'}) do
      local is_needed = expected[name] and (name ~= 'limit' or per_user ~= 1)
      if is_needed and not fields[name] then fail('appended an entry without the field ' .. name) end
      if fields[name] and fields[name] ~= expected[name] then
        fail('appended an entry with ' .. name .. ' ' .. fields[name] .. ' instead of ' ..
             (expected[name] or 'none'))
      end
    end
    for _, name in ipairs({RESERVED}) do
      if fields[name] then fail('appended an entry with the field ' .. name .. ', which is the worker\'s') end
    end
    return id, entry
  end

  local function check_acceptance(after)
    local accepted = 'accepted user ' .. user
    if before.stock <= 0 then fail(accepted .. ' at a stock of ' .. shown(before.stock)) end
    if per_user > 0 and before.bought >= per_user or not counted and before.bought == 1 then
      fail(accepted .. ', with as many orders as the limit allows')
    end
    if after.stock ~= before.stock - 1 then
      fail(accepted .. ' and made the stock ' .. shown(after.stock) .. ' from ' .. shown(before.stock))
    end
    if after.bought ~= before.bought + 1 then
      fail(accepted .. ', whose orders among the buyers are ' .. shown(after.bought) .. ' instead of ' ..
           shown(before.bought + 1))
    end
    if after.entries ~= before.entries + 1 then
      fail(accepted .. ' and left ' .. shown(after.entries) .. ' entries in the order stream instead of ' ..
           shown(before.entries + 1))
    end
    return check_entry()
  end

  local function keep_time_of_decision(id, entry)
    if tonumber(string.match(id, '^%d+')) < ends then return end
    entry[#entry + 1] = 'ADMITTED'
    entry[#entry + 1] = string.format('%.0f-0', now)
    redis.call('XADD', KEYS[4], '*', unpack(entry))
    redis.call('XDEL', KEYS[4], id)
  end

  local function check(code)
    if type(code) == 'table' and code.err then error(code) end
    if type(code) ~= 'number' or code ~= math.floor(code) then fail('returned no integer') end
    local is_acceptance = ({CODES})[code]
    if is_acceptance == nil then fail('returned ' .. shown(code) .. ', which is none of its codes') end
    local after = state()
    if is_acceptance then
      keep_time_of_decision(check_acceptance(after))
      if request then
        redis.call('SET', request, user .. ' ' .. voucher .. ' ' .. ACCEPTED .. ' ' .. order, 'PXAT', key_until)
      end
    else
      for _, name in ipairs({'stock', 'bought', 'entries'}) do
        if after[name] ~= before[name] then
          fail('refused user ' .. user .. ' with ' .. shown(code) .. ' and changed the ' ..
               ({stock = 'stock', bought = 'buyers', entries = 'order stream'})[name])
        end
      end
    end
    return code
  end

  local function with_key(call)
    return function(...)
      local words, count = {...}, select('#', ...)
      if string.upper(tostring(words[1])) ~= 'XADD' or words[2] ~= KEYS[4] then return call(...) end
      words[count + 1], words[count + 2] = 'request_key', key
      words[count + 3], words[count + 4] = 'request_until', key_until
      return call(unpack(words, 1, count + 4))
    end
  end
  local its_redis, its_server = redis, rawget(_G, 'server')
  if request then
    its_redis = setmetatable({call = with_key(redis.call), pcall = with_key(redis.pcall)}, {__index = redis})
    its_server = its_server and its_redis
  end
  return own, nil, check, its_redis, its_server
end)(KEYS, ARGV)
