// Runs the seckill script in a plain Lua interpreter whose redis.call returns constants. No engine
// around the interpreter can be faster.
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

  /// Returns runs per second over `count` users, with new KEYS and ARGV for each.
  double rate(std::int64_t first, std::int64_t count);

 private:
  lua_State* const lua_;
};

}  // namespace rushgate::bench
