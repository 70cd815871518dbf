-- The environment of a script in Redis.
std = 'lua51'
read_globals = {'redis', 'server', 'KEYS', 'ARGV'}
max_line_length = 120

-- The words that admission_guard.cc replaces.
files['**/admission_guard.lua'] = {read_globals = {'CODES', 'COUNTS_BUYERS', 'RESERVED'}}
