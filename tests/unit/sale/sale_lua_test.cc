#include "engine/sale/all.lua.h"
#include "tests/support/lua_files.h"

namespace rushgate {
namespace {

TEST(SaleLuaTest, FileHasTheShaOnRedis) {
  testing::expect_same_scripts(RUSHGATE_LUA, lua::kAllOfSale);
}

}  // namespace
}  // namespace rushgate
