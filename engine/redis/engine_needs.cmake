rushgate_needs_module(XXHASH libxxhash)
rushgate_needs_module(LUA lua5.1)
rushgate_needs_module(LUA_BITOP lua5.1-bitop)
rushgate_needs_module(LUA_CJSON lua5.1-cjson)
