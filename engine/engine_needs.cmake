# What rushgate::engine needs; so every room does.
find_package(absl REQUIRED)
find_package(Boost 1.74 CONFIG REQUIRED)  # headers: Lockfree; Asio and CRC for other rooms
find_package(spdlog REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET GLOBAL libxxhash)
pkg_check_modules(LUA REQUIRED IMPORTED_TARGET GLOBAL lua5.1)
pkg_check_modules(LUA_BITOP REQUIRED IMPORTED_TARGET GLOBAL lua5.1-bitop)
pkg_check_modules(LUA_CJSON REQUIRED IMPORTED_TARGET GLOBAL lua5.1-cjson)
