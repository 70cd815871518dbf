// The table `cmsgpack` of scripts: MessagePack encoding. Private to the script module. Semantics:
// https://redis.io/docs/latest/develop/programmability/lua-api/#cmsgpack-library The format:
// https://github.com/msgpack/msgpack/blob/master/spec.md
#pragma once

#include "engine/redis/script/lua.h"

namespace rushgate {

/// Pushes the table.
void push_message_pack(lua_State* lua);

}  // namespace rushgate
