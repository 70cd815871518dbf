#include "engine/redis/script/shebang.h"

#include <string_view>

#include <gtest/gtest.h>

#include "tests/unit/script/lua_test.h"

namespace rushgate {
namespace {

std::string error_of(std::string_view text) {
  Reply error;
  return parse_shebang(text, error) ? "" : error.text();
}

ScriptFlags flags_of(std::string_view text) {
  Reply error;
  const auto shebang = parse_shebang(text, error);
  EXPECT_TRUE(shebang) << to_debug_string(error);
  return shebang ? shebang->flags : ScriptFlags{};
}

TEST(ShebangTest, ScriptWithoutShebangIsUnchanged) {
  Reply error;
  const auto shebang = parse_shebang("return 1", error);
  ASSERT_TRUE(shebang);
  EXPECT_EQ(shebang->body, "return 1");
  EXPECT_FALSE(shebang->flags.declared);
}

TEST(ShebangTest, BodyStartsAtLineEnd) {
  Reply error;
  const auto shebang = parse_shebang("#!lua\nreturn 1", error);
  ASSERT_TRUE(shebang);
  EXPECT_EQ(shebang->body, "\nreturn 1");
  EXPECT_TRUE(shebang->flags.declared);
  EXPECT_FALSE(shebang->flags.no_writes);
}

TEST(ShebangTest, FlagsAreRead) {
  EXPECT_TRUE(flags_of("#!lua flags=no-writes\n").no_writes);
  EXPECT_TRUE(flags_of("#!lua  flags=no-writes  \r\n").no_writes);
  const ScriptFlags all = flags_of(
      "#!lua flags=no-writes,allow-stale flags=allow-oom,no-cluster,allow-cross-slot-keys\n");
  EXPECT_TRUE(all.no_writes && all.allow_stale && all.allow_oom && all.no_cluster &&
              all.allow_cross_slot_keys);
  EXPECT_FALSE(flags_of("#!lua flags=\n").no_writes);
}

TEST(ShebangTest, ErrorsEqualRedis) {
  EXPECT_EQ(error_of("#!lua"), "ERR Invalid script shebang");
  EXPECT_EQ(error_of("#!LUA\n"), "ERR Unexpected engine in script shebang: #!LUA");
  EXPECT_EQ(error_of("#! lua\n"), "ERR Unexpected engine in script shebang: #!");
  EXPECT_EQ(error_of("#!lua flags=bogus\n"), "ERR Unexpected flag in script shebang: bogus");
  EXPECT_EQ(error_of("#!lua flags=no-writes, x\n"), "ERR Unexpected flag in script shebang: ");
  EXPECT_EQ(error_of("#!lua flags\n"), "ERR Unknown lua shebang option: flags");
  EXPECT_EQ(error_of("#!lua name=x\n"), "ERR Unknown lua shebang option: name=x");
}

class ShebangLinesTest : public LuaTest {};

TEST_F(ShebangLinesTest, LinesKeepTheirNumbers) {
  EXPECT_EQ(text("#!lua\nerror('x')"),
            "(error) ERR user_script:2: x script: <sha1>, on @user_script:2.");
}

}  // namespace
}  // namespace rushgate
