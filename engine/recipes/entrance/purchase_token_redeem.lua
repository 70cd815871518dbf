-- KEYS  1 the user's token of the item, as in purchase_token_issue.lua  ARGV  1 token
-- Returns one of these.
local INVALID = 0
local NOW = 1
local BEFORE = 2

local token = redis.call('GET', KEYS[1])
if token == ARGV[1] .. ' used' then return BEFORE end
if token ~= ARGV[1] then return INVALID end
redis.call('SET', KEYS[1], token .. ' used', 'KEEPTTL')
return NOW
