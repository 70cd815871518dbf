#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/commands/command_test.h"

namespace rushgate {
namespace {

class SetsTest : public CommandTest {
 protected:
  std::vector<std::string> members(const char* key) {
    const Reply reply = run("SMEMBERS", key);
    EXPECT_EQ(reply.kind(), Reply::Kind::kSet);
    std::vector<std::string> members;
    for (const Reply& member : reply.elements()) members.push_back(member.text());
    std::sort(members.begin(), members.end());
    return members;
  }
};

TEST_F(SetsTest, SaddCountsNewMembers) {
  EXPECT_EQ(text("SADD", "s", "a", 1, "a", ""), "(integer) 3");
  EXPECT_EQ(text("SADD", "s", "a", 2), "(integer) 1");
  EXPECT_EQ(members("s"), (std::vector<std::string>{"", "1", "2", "a"}));
  EXPECT_EQ(text("SCARD", "s"), "(integer) 4");
}

TEST_F(SetsTest, MembersAreComparedAsBytes) {
  run("SADD", "s", "5", "a");
  EXPECT_EQ(text("SISMEMBER", "s", "5"), "(integer) 1");
  EXPECT_EQ(text("SISMEMBER", "s", "05"), "(integer) 0");
  EXPECT_EQ(text("SMISMEMBER", "s", "a", "A", "5", "a"),
            "[(integer) 1, (integer) 0, (integer) 1, (integer) 1]");
}

TEST_F(SetsTest, MissingSetReadsAsEmpty) {
  EXPECT_EQ(text("SISMEMBER", "s", "a"), "(integer) 0");
  EXPECT_EQ(text("SMISMEMBER", "s", "a", "b"), "[(integer) 0, (integer) 0]");
  EXPECT_EQ(text("SCARD", "s"), "(integer) 0");
  EXPECT_EQ(run("SMEMBERS", "s"), Reply::set());
  EXPECT_EQ(text("SREM", "s", "a"), "(integer) 0");
}

TEST_F(SetsTest, LastMemberRemovesSet) {
  run("SADD", "s", "a", 1, 2);
  EXPECT_EQ(text("SREM", "s", "none", "a", "a", 1), "(integer) 2");
  EXPECT_EQ(text("SREM", "s", 2, 2, "a"), "(integer) 1");
  EXPECT_EQ(text("EXISTS", "s"), "(integer) 0");
  EXPECT_EQ(text("SADD", "s", "a"), "(integer) 1");
}

TEST_F(SetsTest, RecreatedSetHasNoOldMembers) {
  run("SADD", "s", 1, 2, 3);
  commit();
  run("DEL", "s");
  run("SADD", "s", 4);
  commit();
  EXPECT_EQ(members("s"), (std::vector<std::string>{"4"}));
}

TEST_F(SetsTest, AnotherTypeIsRefused) {
  run("SET", "k", 1);
  EXPECT_EQ(text("SADD", "k", "a"), kWrongType);
  EXPECT_EQ(text("SREM", "k", "a"), kWrongType);
  EXPECT_EQ(text("SISMEMBER", "k", "a"), kWrongType);
  EXPECT_EQ(text("SMISMEMBER", "k", "a"), kWrongType);
  EXPECT_EQ(text("SCARD", "k"), kWrongType);
  EXPECT_EQ(text("SMEMBERS", "k"), kWrongType);
}

}  // namespace
}  // namespace rushgate
