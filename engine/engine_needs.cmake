# The packages of rushgate::engine, and so of every module.
rushgate_needs_package(absl)
rushgate_needs_package(Boost 1.74 CONFIG)  # headers: Lockfree and CRC; Asio for other modules
rushgate_needs_package(OpenSSL 3.0 COMPONENTS Crypto)
rushgate_needs_package(spdlog)
rushgate_needs_module(XXHASH libxxhash)
rushgate_needs_module(LUA lua5.1)
rushgate_needs_module(LUA_BITOP lua5.1-bitop)
rushgate_needs_module(LUA_CJSON lua5.1-cjson)
