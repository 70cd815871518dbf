// Rollback and storage of restored values, and the bound of DUMP's reply. The conformance tests
// cover the rest.
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/commands/command_test.h"

namespace rushgate {
namespace {

class RestoreTest : public CommandTest {
 protected:
  void create_each_type() {
    run("SET", "string", "text");
    run("RPUSH", "list", "a", 1, std::string(5'000, 'x'));
    run("SADD", "set", 1, "a");
    run("HSET", "hash", "a", 1, "b", "text");
    run("ZADD", "zset", 1, "a", "2.5", "b");
    run("XADD", "stream", "1-1", "a", 1);
    run("XADD", "stream", "2-1", "a", 2, "b", "text");
    run("XGROUP", "CREATE", "stream", "g", 0);
    run("XREADGROUP", "GROUP", "g", "c", "STREAMS", "stream", ">");
    run("XDEL", "stream", "1-1");
  }
  static constexpr const char* kKeys[] = {"string", "list", "set", "hash", "zset", "stream"};

  std::string stream(const char* key) {
    return text("XRANGE", key, "-", "+") + text("XINFO", "STREAM", key, "FULL");
  }
};

TEST_F(RestoreTest, EachTypeReplacesEachType) {
  create_each_type();
  for (const char* const key : kKeys) {
    const std::string payload = run("DUMP", key).text();
    for (const char* const replaced : kKeys) {
      run("COPY", replaced, "made", "REPLACE");
      EXPECT_EQ(run("RESTORE", "made", 0, payload, "REPLACE"), Reply::ok());
      EXPECT_EQ(run("TYPE", "made"), run("TYPE", key));
    }
    commit();
  }
  EXPECT_EQ(stream("made"), stream("stream"));  // the last one
}

TEST_F(RestoreTest, PastTimeRemovesReplacedKey) {
  create_each_type();
  const std::string payload = run("DUMP", "hash").text();
  EXPECT_EQ(run("RESTORE", "list", kStartMs, payload, "ABSTTL", "REPLACE"), Reply::ok());
  EXPECT_EQ(run("EXISTS", "list"), Reply::integer(0));
  EXPECT_EQ(run("RESTORE", "list", kStartMs + 1, payload, "ABSTTL"), Reply::ok());
  EXPECT_EQ(run("PTTL", "list"), Reply::integer(1));
}

TEST_F(RestoreTest, LargeEntriesHaveOwnNodes) {
  for (const char* const id : {"1-1", "2-1", "3-1", "4-1"}) {
    run("XADD", "stream", id, "f", std::string(700'000, 'x'));
  }
  EXPECT_EQ(run("RESTORE", "made", 0, run("DUMP", "stream").text()), Reply::ok());
  EXPECT_EQ(stream("made"), stream("stream"));
}

TEST_F(RestoreTest, PayloadOfStreamMeetsBoundOfReply) {
  for (const char* const id : {"1-1", "2-1", "3-1"}) {
    run("XADD", "stream", id, "f", std::string(1'000, 'x'));
  }
  session().reply_bytes_max = 4'000;
  EXPECT_EQ(run("DUMP", "stream").kind(), Reply::Kind::kBulk);
  session().reply_bytes_max = 2'000;
  EXPECT_EQ(run("DUMP", "stream"),
            Reply::error("ERR the reply takes more memory than the client may leave unread"));
}

}  // namespace
}  // namespace rushgate
