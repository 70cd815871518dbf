#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/commands/command_test.h"

namespace rushgate {
namespace {

class HashesTest : public CommandTest {
 protected:
  /// Returns the elements of an unordered reply, sorted.
  static std::vector<std::string> sorted(const Reply& reply, std::size_t group) {
    std::vector<std::string> groups;
    for (std::size_t i = 0; i < reply.elements().size(); i += group) {
      std::string joined;
      for (std::size_t j = i; j < i + group; ++j)
        joined += (j == i ? "" : "=") + reply.elements()[j].text();
      groups.push_back(joined);
    }
    std::sort(groups.begin(), groups.end());
    return groups;
  }
};

TEST_F(HashesTest, HsetCountsNewFields) {
  EXPECT_EQ(text("HSET", "h", "a", 1, "b", 2), "(integer) 2");
  EXPECT_EQ(text("HSET", "h", "b", 3, "c", 4, "c", 5), "(integer) 1");
  EXPECT_EQ(text("HMGET", "h", "a", "b", "c", "none"), R"(["1", "3", "5", (nil)])");
  EXPECT_EQ(text("HLEN", "h"), "(integer) 3");
}

TEST_F(HashesTest, HsetNeedsPairs) {
  EXPECT_EQ(text("HSET", "h", "a"), "(error) ERR wrong number of arguments for 'hset' command");
  EXPECT_EQ(text("HSET", "h", "a", 1, "b"),
            "(error) ERR wrong number of arguments for 'hset' command");
  run("SET", "s", 1);
  EXPECT_EQ(text("HSET", "s", "a", 1, "b"),
            "(error) ERR wrong number of arguments for 'hset' command");
  EXPECT_EQ(text("EXISTS", "h"), "(integer) 0");
}

TEST_F(HashesTest, MissingHashReadsAsEmpty) {
  EXPECT_EQ(text("HGET", "h", "a"), "(nil)");
  EXPECT_EQ(text("HMGET", "h", "a", "b"), "[(nil), (nil)]");
  EXPECT_EQ(run("HGETALL", "h"), Reply::map());
  EXPECT_EQ(text("HLEN", "h"), "(integer) 0");
  EXPECT_EQ(text("HEXISTS", "h", "a"), "(integer) 0");
  EXPECT_EQ(text("HDEL", "h", "a"), "(integer) 0");
}

TEST_F(HashesTest, HgetallReturnsAllPairs) {
  run("HSET", "h", "a", "text", 17, 3, "b", "", 18, "text");
  const Reply all = run("HGETALL", "h");
  EXPECT_EQ(all.kind(), Reply::Kind::kMap);
  EXPECT_EQ(sorted(all, 2), (std::vector<std::string>{"17=3", "18=text", "a=text", "b="}));
}

TEST_F(HashesTest, HexistsFindsField) {
  run("HSET", "h", "a", "", 17, 3);
  EXPECT_EQ(text("HEXISTS", "h", "a"), "(integer) 1");
  EXPECT_EQ(text("HEXISTS", "h", "17"), "(integer) 1");
  EXPECT_EQ(text("HEXISTS", "h", "017"), "(integer) 0");
}

TEST_F(HashesTest, ValueChangesBetweenNumberAndString) {
  for (const char* value : {"1", "text", "2", "02", "3"}) {
    run("HSET", "h", 17, value);
    EXPECT_EQ(run("HGET", "h", 17), Reply::bulk(value));
    EXPECT_EQ(text("HLEN", "h"), "(integer) 1");
  }
}

TEST_F(HashesTest, LastFieldRemovesHash) {
  run("HSET", "h", "a", 1, 17, 2);
  EXPECT_EQ(text("HDEL", "h", "none", "a", "a"), "(integer) 1");
  EXPECT_EQ(text("HDEL", "h", 17, 17, "a"), "(integer) 1");
  EXPECT_EQ(text("EXISTS", "h"), "(integer) 0");
  EXPECT_EQ(text("HSET", "h", "a", 1), "(integer) 1");
}

TEST_F(HashesTest, HincrbyCountsFromZero) {
  EXPECT_EQ(text("HINCRBY", "h", 17, 2), "(integer) 2");
  EXPECT_EQ(text("HINCRBY", "h", 17, -3), "(integer) -1");
  EXPECT_EQ(text("HINCRBY", "h", "name", 5), "(integer) 5");
  EXPECT_EQ(text("HGET", "h", "name"), "\"5\"");
}

TEST_F(HashesTest, HincrbyRefusesNonNumber) {
  run("HSET", "h", "text", "abc", 17, "05");
  EXPECT_EQ(text("HINCRBY", "h", "text", 1), "(error) ERR hash value is not an integer");
  EXPECT_EQ(text("HINCRBY", "h", 17, 1), "(error) ERR hash value is not an integer");
  EXPECT_EQ(text("HINCRBY", "h", "text", "x"), kNotAnInteger);
  EXPECT_EQ(text("HINCRBY", "none", "text", "x"), kNotAnInteger);
  EXPECT_EQ(text("EXISTS", "none"), "(integer) 0");
}

TEST_F(HashesTest, HincrbyDoesNotOverflow) {
  run("HSET", "h", 17, "9223372036854775807");
  EXPECT_EQ(text("HINCRBY", "h", 17, 1), "(error) ERR increment or decrement would overflow");
  EXPECT_EQ(text("HINCRBY", "h", 17, "-9223372036854775808"), "(integer) -1");
  EXPECT_EQ(text("HINCRBY", "h", 17, "-9223372036854775808"),
            "(error) ERR increment or decrement would overflow");
}

TEST_F(HashesTest, AnotherTypeIsRefused) {
  run("SET", "s", 1);
  EXPECT_EQ(text("HGET", "s", "a"), kWrongType);
  EXPECT_EQ(text("HSET", "s", "a", 1), kWrongType);
  EXPECT_EQ(text("HMGET", "s", "a"), kWrongType);
  EXPECT_EQ(text("HGETALL", "s"), kWrongType);
  EXPECT_EQ(text("HINCRBY", "s", "a", 1), kWrongType);
  EXPECT_EQ(text("HDEL", "s", "a"), kWrongType);
  EXPECT_EQ(text("HLEN", "s"), kWrongType);
  EXPECT_EQ(text("HEXISTS", "s", "a"), kWrongType);
}

}  // namespace
}  // namespace rushgate
