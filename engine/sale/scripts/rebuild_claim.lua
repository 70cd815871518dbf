-- luacheck: push ignore 211
local GIVEN_BACK = 'failed:'  -- as the field `closed` of a voucher: its rebuild failed, and the next one may begin
-- luacheck: pop
