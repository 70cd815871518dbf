// A cache of compiled scripts by SHA-1, with LRU eviction. Private to the script
// module.
#pragma once

#include <cstddef>
#include <list>
#include <string_view>
#include <unordered_map>

#include "engine/redis/script/lua_host.h"

namespace rushgate {

class ScriptCache {
 public:
  /// Finds a script by `sha1`, in any case. Counts as a use.
  const LuaScript* find(std::string_view sha1);
  [[nodiscard]] bool contains(std::string_view sha1) const;

  /// Inserts a script. `script.sha1` must be new and in lower case.
  const LuaScript& insert(LuaScript script);

  /// Removes the least recently used script; there must be one.
  LuaScript take_oldest();

  [[nodiscard]] std::size_t size() const { return scripts_.size(); }

 private:
  using Scripts = std::list<LuaScript>;
  using BySha1 = std::unordered_map<std::string_view, Scripts::iterator>;

  [[nodiscard]] BySha1::const_iterator look_up(std::string_view sha1) const;

  Scripts scripts_;                                                  // most recently used first
  std::unordered_map<std::string_view, Scripts::iterator> by_sha1_;  // keys point into scripts_
};

}  // namespace rushgate
