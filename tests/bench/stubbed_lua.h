// The seckill script in a Lua of its own whose redis.call answers with constants: what the
// interpreter alone costs, which no engine around it can undercut.
#pragma once

#include <cstdint>

struct lua_State;

namespace rushgate::bench {

class StubbedLua {
 public:
  StubbedLua();
  ~StubbedLua();
  StubbedLua(const StubbedLua&) = delete;
  StubbedLua& operator=(const StubbedLua&) = delete;

  /// Runs a second: `count` users, with KEYS and ARGV made anew for each.
  double rate(std::int64_t first, std::int64_t count);

 private:
  lua_State* const lua_;
};

}  // namespace rushgate::bench
