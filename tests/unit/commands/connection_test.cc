#include <gmock/gmock.h>

#include "tests/unit/commands/command_test.h"

namespace rushgate {
namespace {

class ConnectionTest : public CommandTest {};

TEST_F(ConnectionTest, PingRepliesPongOrMessage) {
  EXPECT_EQ(run("PING"), Reply::status("PONG"));
  EXPECT_EQ(run("ping", "hello"), Reply::bulk("hello"));
  EXPECT_EQ(text("PING", "a", "b"), "(error) ERR wrong number of arguments for 'ping' command");
}

TEST_F(ConnectionTest, SelectSetsDatabaseOfSession) {
  run("SET", "k", "0");
  EXPECT_EQ(text("SELECT", 15), "OK");
  EXPECT_EQ(text("GET", "k"), "(nil)");
  run("SET", "k", "15");
  EXPECT_EQ(text("SELECT", 0), "OK");
  EXPECT_EQ(text("GET", "k"), "\"0\"");
}

TEST_F(ConnectionTest, SelectRefusesInvalidDatabase) {
  EXPECT_EQ(text("SELECT", 16), "(error) ERR DB index is out of range");
  EXPECT_EQ(text("SELECT", -1), "(error) ERR DB index is out of range");
  EXPECT_EQ(text("SELECT", "abc"), kNotAnInteger);
  EXPECT_EQ(text("SELECT", "99999999999999999999"), kNotAnInteger);
  EXPECT_EQ(text("SELECT", 99999999999),
            "(error) ERR value is out of range, value must between -2147483648 and 2147483647");
  EXPECT_EQ(session().db, 0);
}

TEST_F(ConnectionTest, ListShowsLibraryOnlyIfSet) {
  const auto list = [this] { return run("CLIENT", "INFO").text(); };
  EXPECT_THAT(list(), ::testing::Not(::testing::HasSubstr("lib-")));
  EXPECT_EQ(text("CLIENT", "SETINFO", "LIB-NAME", "redis-py"), "OK");
  EXPECT_THAT(list(), ::testing::EndsWith(" lib-name=redis-py lib-ver=\n"));
  EXPECT_EQ(text("CLIENT", "SETINFO", "lib-ver", "5.0"), "OK");
  EXPECT_THAT(list(), ::testing::EndsWith(" lib-name=redis-py lib-ver=5.0\n"));
}

TEST_F(ConnectionTest, SetinfoRefusesInvalidNames) {
  EXPECT_EQ(text("CLIENT", "SETINFO", "Lib-Name", "a b"),
            "(error) ERR lib-name cannot contain spaces, newlines or special characters.");
  EXPECT_EQ(text("CLIENT", "SETINFO", "lib", "a"), "(error) ERR Unrecognized option 'lib'");
}

TEST_F(ConnectionTest, FlagOfIdleTimesIsShown) {
  EXPECT_EQ(text("CLIENT", "NO-TOUCH", "on"), "OK");
  EXPECT_THAT(run("CLIENT", "INFO").text(), ::testing::HasSubstr(" flags=T "));
  EXPECT_EQ(text("CLIENT", "NO-TOUCH", "OFF"), "OK");
  EXPECT_THAT(run("CLIENT", "INFO").text(), ::testing::HasSubstr(" flags=N "));
  EXPECT_EQ(text("CLIENT", "NO-TOUCH", "x"), kSyntaxError);
  run("CLIENT", "NO-TOUCH", "ON");
  EXPECT_EQ(text("RESET"), "RESET");
  EXPECT_THAT(run("CLIENT", "INFO").text(), ::testing::HasSubstr(" flags=N "));
}

}  // namespace
}  // namespace rushgate
