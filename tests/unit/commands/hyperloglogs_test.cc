#include <map>
#include <string>

#include "tests/unit/commands/command_test.h"

namespace rushgate {
namespace {

/// run() and TearDown() check that every change can be rolled back and is stored.
class HyperLogLogCommandsTest : public CommandTest {};

TEST_F(HyperLogLogCommandsTest, ElementsAreAddedInBothForms) {
  EXPECT_EQ(text("PFADD", "h", "a", "b", "c"), "(integer) 1");
  EXPECT_EQ(text("PFCOUNT", "h"), "(integer) 3");
  EXPECT_EQ(text("PFDEBUG", "TODENSE", "h"), "(integer) 1");
  EXPECT_EQ(text("PFADD", "h", "d", "e", "f", "g"), "(integer) 1");
  EXPECT_EQ(text("PFADD", "h", "a", "d"), "(integer) 0");
  EXPECT_EQ(text("PFCOUNT", "h"), "(integer) 7");
  EXPECT_EQ(text("PFMERGE", "i", "h"), "OK");
  EXPECT_EQ(text("PFCOUNT", "h", "i"), "(integer) 7");
}

TEST_F(HyperLogLogCommandsTest, StoredValueIsChangedAfterReload) {
  run("PFADD", "h", "a");
  run("PFDEBUG", "TODENSE", "h");
  const std::string bytes = run("GET", "h").text();
  run("SET", "h", bytes);  // as the store loads it: not a buffer
  EXPECT_EQ(text("PFADD", "h", "b", "c"), "(integer) 1");
  EXPECT_EQ(text("PFCOUNT", "h"), "(integer) 3");
}

TEST_F(HyperLogLogCommandsTest, DamagedValueStaysUnchanged) {
  // The second half of the registers is missing.
  run("SET", "h", std::string("HYLL\1\0\0\0\0\0\0\0\0\0\0\x80\x5F\xFF", 18));
  const std::map<std::string, std::string> before = contents();
  EXPECT_EQ(run("PFADD", "h", 1, 2, 3, 4, 5, 6, 7, 8).error_code(), "INVALIDOBJ");
  EXPECT_EQ(run("PFCOUNT", "h").error_code(), "INVALIDOBJ");
  EXPECT_EQ(run("PFMERGE", "h").error_code(), "INVALIDOBJ");
  EXPECT_EQ(run("PFDEBUG", "GETREG", "h").error_code(), "INVALIDOBJ");
  EXPECT_EQ(contents(), before);
}

TEST_F(HyperLogLogCommandsTest, CountIsNotStoredAfterFailedWrite) {
  run("PFADD", "h", "a", "b");
  const std::map<std::string, std::string> before = contents();
  services().write_refusal = "MISCONF the store has failed";
  EXPECT_EQ(text("PFCOUNT", "h"), "(integer) 2");
  EXPECT_EQ(contents(), before);
  services().write_refusal.clear();
  EXPECT_EQ(text("PFCOUNT", "h"), "(integer) 2");
  EXPECT_NE(contents(), before);
}

TEST_F(HyperLogLogCommandsTest, LongDescriptionMeetsBoundOfReply) {
  run("SET", "h", std::string("HYLL\1\0\0\0\0\0\0\0\0\0\0\0", 16) + std::string(10'000, '\0'));
  EXPECT_EQ(run("PFDEBUG", "DECODE", "h").text().size(), 39'999U);
  session().reply_bytes_max = 20'000;
  EXPECT_TRUE(run("PFDEBUG", "DECODE", "h").is_error());
}

}  // namespace
}  // namespace rushgate
