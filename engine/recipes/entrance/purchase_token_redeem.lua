-- KEYS  1 the user's token of the item, as in purchase_token_issue.lua  ARGV  1 token
-- Returns one of purchase_token.lua, and spends a valid token.
-- #include "purchase_token.lua"

local state = state_of_token(KEYS[1], ARGV[1])
if state == NOW then spend_token(KEYS[1], ARGV[1]) end
return state
