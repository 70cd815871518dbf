-- Whether a voucher is on sale at a time. Part of the rules of admission, and of the guard of an
-- admission script that a user wrote.
-- #include "admission_codes.lua"
-- luacheck: push ignore 211
-- `terms` has closed, begins and ends. Returns a code if nobody may buy now, else nil.
local function refusal_of_time(terms, now)
  if terms.closed then return REBUILDING end
  if not terms.begins then return UNKNOWN_VOUCHER end
  if now < terms.begins then return NOT_STARTED end
  if now >= terms.ends then return ENDED end
end
-- luacheck: pop
