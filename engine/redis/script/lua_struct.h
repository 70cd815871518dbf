// The table `struct` of scripts: conversion between Lua values and the bytes of C structures.
// Private to the script module. Semantics:
// https://redis.io/docs/latest/develop/programmability/lua-api/#struct-library
#pragma once

#include "engine/redis/script/lua.h"

namespace rushgate {

/// Pushes the table.
void push_struct(lua_State* lua);

}  // namespace rushgate
