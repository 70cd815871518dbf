// The decoding functions of `cmsgpack` (lua_message_pack.h). Private to the script module.
#pragma once

#include "engine/redis/script/lua.h"

namespace rushgate {

/// cmsgpack.unpack(string)
int unpack_messages(lua_State* lua);

/// cmsgpack.unpack_one(string [, offset])
int unpack_one_message(lua_State* lua);

/// cmsgpack.unpack_limit(string, limit [, offset])
int unpack_some_messages(lua_State* lua);

}  // namespace rushgate
