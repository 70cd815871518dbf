-- A purchase token, "<token>" or "<token> used", in a key of its own.
-- luacheck: push ignore 211
local INVALID = 0  -- unknown, expired, or of another user or item
local NOW = 1      -- valid
local BEFORE = 2   -- spent before

local function state_of_token(key, token)
  local known = redis.call('GET', key)
  if known == token .. ' used' then return BEFORE end
  return known == token and NOW or INVALID
end

local function spend_token(key, token) redis.call('SET', key, token .. ' used', 'KEEPTTL') end
-- luacheck: pop
