#include "tests/support/lua_files.h"

#include "engine/recipes/all.lua.h"

namespace rushgate {
namespace {

TEST(RecipeLuaTest, FileHasTheShaOnRedis) {
  testing::expect_same_scripts(RUSHGATE_LUA, lua::kAllOfRecipes);
}

}  // namespace
}  // namespace rushgate
