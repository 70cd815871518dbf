// Lua's C interface. Private to the script module.
#pragma once

#include <lua.hpp>

extern "C" {
#include <lua-bitop.h>
#include <lua-cjson.h>
}
