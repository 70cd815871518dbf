// DEBUG, as far as it differs from Redis. (tests/conformance/transcripts/debug.txt has the rest.)
#include "tests/unit/commands/command_test.h"

namespace rushgate {
namespace {

class DebugTest : public CommandTest {
 protected:
  DebugTest() { services().settings.debug_commands = true; }
};

constexpr std::string_view kRefused = "(error) ERR DEBUG command not allowed.";

TEST_F(DebugTest, CommandIsRefusedUnlessAllowed) {
  services().settings.debug_commands = false;
  EXPECT_TRUE(text("DEBUG", "SLEEP", 0).starts_with(kRefused));
  EXPECT_TRUE(text("DEBUG", "nosuch").starts_with(kRefused));
  EXPECT_EQ(text("DEBUG"), "(error) ERR wrong number of arguments for 'debug' command");
  EXPECT_EQ(text("EVAL", "return redis.pcall('DEBUG', 'SLEEP', 0)", 0),
            "(error) ERR This Redis command is not allowed from script");
}

TEST_F(DebugTest, RefusalPrecedesMissingPassword) {
  services().settings.debug_commands = false;
  session().is_authenticated = false;
  EXPECT_TRUE(text("DEBUG", "SLEEP", 0).starts_with(kRefused));
}

TEST_F(DebugTest, SleepHasBound) {
  for (const char* const seconds : {"60.1", "1e300", "inf", "nan"})
    EXPECT_EQ(text("DEBUG", "SLEEP", seconds), "(error) ERR DEBUG SLEEP takes at most 60 seconds");
}

TEST_F(DebugTest, ReloadSavesWithoutNosave) {
  EXPECT_EQ(text("DEBUG", "RELOAD", "NOSAVE"), "OK");
  EXPECT_FALSE(services().saves_batch);
  EXPECT_EQ(text("DEBUG", "RELOAD"), "OK");
  EXPECT_TRUE(services().saves_batch);
}

TEST_F(DebugTest, ObjectHasEncoding) {
  run("SET", "k", 5);
  EXPECT_NE(text("DEBUG", "OBJECT", "k").find(" refcount:1 encoding:int "), std::string::npos);
}

}  // namespace
}  // namespace rushgate
