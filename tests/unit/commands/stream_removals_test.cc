// Commands and options after Redis 7.0: XDELEX, XACKDEL, KEEPREF, DELREF and ACKED of trims, and
// XREADGROUP with CLAIM.
#include <set>
#include <string>
#include <vector>

#include "tests/unit/commands/command_test.h"

namespace rushgate {
namespace {

/// Two groups have the entries 1-0 to 3-0 pending. The entry 4-0 was not delivered to the second
/// one.
class StreamRemovalsTest : public CommandTest {
 protected:
  StreamRemovalsTest() {
    for (int ms = 1; ms <= 3; ++ms) add(ms);
    run("XGROUP", "CREATE", "s", "g", "0");
    run("XGROUP", "CREATE", "s", "h", "0");
    run("XREADGROUP", "GROUP", "g", "one", "STREAMS", "s", ">");
    run("XREADGROUP", "GROUP", "h", "two", "STREAMS", "s", ">");
    add(4);
    run("XREADGROUP", "GROUP", "g", "one", "NOACK", "STREAMS", "s", ">");
    commit();
  }

  void add(int ms) { run("XADD", "s", std::to_string(ms) + "-0", "f", ms); }
  std::string ids() {
    std::string ids;
    const Reply entries = run("XRANGE", "s", "-", "+");
    for (const Reply& entry : entries.elements()) {
      ids.append(entry.elements()[0].text()).append(" ");
    }
    return ids;
  }
  std::string pending(const char* group) {
    std::string ids;
    const Reply entries = run("XPENDING", "s", group, "-", "+", 10);
    for (const Reply& entry : entries.elements()) {
      ids.append(entry.elements()[0].text()).append(" ");
    }
    return ids;
  }
};

constexpr const char* kNone = "[(integer) -1]";
constexpr const char* kRemoved = "[(integer) 1]";
constexpr const char* kAwaited = "[(integer) 2]";

// ---- XDELEX ----

TEST_F(StreamRemovalsTest, XdelexKeepsReferencesByDefault) {
  EXPECT_EQ(text("XDELEX", "s", "IDS", 4, "1-0", "1-0", "9-0", "2-0"),
            "[(integer) 1, (integer) -1, (integer) -1, (integer) 1]");
  EXPECT_EQ(text("XDELEX", "s", "KEEPREF", "IDS", 1, "3-0"), kRemoved);
  EXPECT_EQ(ids(), "4-0 ");
  EXPECT_EQ(pending("g"), "1-0 2-0 3-0 ");
  EXPECT_EQ(pending("h"), "1-0 2-0 3-0 ");
}

TEST_F(StreamRemovalsTest, DelrefForgetsReferencesOfAllGroups) {
  EXPECT_EQ(text("XDELEX", "s", "DELREF", "IDS", 1, "2-0"), kRemoved);
  EXPECT_EQ(ids(), "1-0 3-0 4-0 ");
  EXPECT_EQ(pending("g"), "1-0 3-0 ");
  EXPECT_EQ(pending("h"), "1-0 3-0 ");
  run("XDEL", "s", "1-0");
  EXPECT_EQ(text("XDELEX", "s", "IDS", 1, "1-0", "DELREF"), kNone);
  EXPECT_EQ(pending("g"), "3-0 ") << "a reference to no entry";
}

TEST_F(StreamRemovalsTest, AckedKeepsAwaitedEntries) {
  EXPECT_EQ(text("XDELEX", "s", "ACKED", "IDS", 3, "1-0", "4-0", "9-0"),
            "[(integer) 2, (integer) 2, (integer) -1]");
  run("XACK", "s", "g", "1-0");
  EXPECT_EQ(text("XDELEX", "s", "ACKED", "IDS", 1, "1-0"), kAwaited);
  run("XACK", "s", "h", "1-0");
  EXPECT_EQ(text("XDELEX", "s", "acked", "ids", 1, "1-0"), kRemoved);
  EXPECT_EQ(ids(), "2-0 3-0 4-0 ");
  run("XGROUP", "DESTROY", "s", "h");
  EXPECT_EQ(text("XDELEX", "s", "ACKED", "IDS", 2, "4-0", "2-0"), "[(integer) 1, (integer) 2]");
}

TEST_F(StreamRemovalsTest, AckedWithoutGroupsRemovesEntries) {
  run("XADD", "t", "1-0", "f", "v");
  EXPECT_EQ(text("XDELEX", "t", "ACKED", "IDS", 1, "1-0"), kRemoved);
}

TEST_F(StreamRemovalsTest, MissingStreamOrGroupRemovesNothing) {
  EXPECT_EQ(text("XDELEX", "none", "IDS", 2, "1-0", "2-0"), "[(integer) -1, (integer) -1]");
  EXPECT_EQ(text("XACKDEL", "none", "g", "IDS", 1, "1-0"), kNone);
  EXPECT_EQ(text("XACKDEL", "s", "none", "IDS", 1, "1-0"), kNone);
  run("SET", "string", "v");
  EXPECT_TRUE(run("XDELEX", "string", "IDS", 1, "1-0").is_error());
  EXPECT_TRUE(run("XACKDEL", "string", "g", "IDS", 1, "1-0").is_error());
}

TEST_F(StreamRemovalsTest, WrongArgumentsAreErrors) {
  const std::string not_positive = "(error) ERR Number of IDs must be a positive integer";
  const std::string syntax = "(error) ERR syntax error";
  EXPECT_EQ(text("XDELEX", "s", "IDS", "x", "1-0"), not_positive);
  EXPECT_EQ(text("XDELEX", "s", "IDS", 0, "1-0"), not_positive);
  EXPECT_EQ(text("XACKDEL", "s", "g", "IDS", -5, "1-0"), not_positive);
  EXPECT_EQ(text("XACKDEL", "s", "g", "IDS", 3, "1-0", "2-0"),
            "(error) ERR The `numids` parameter must match the number of arguments");
  EXPECT_EQ(text("XACKDEL", "s", "g", "IDS", 1, "1-0", "2-0"), syntax);
  EXPECT_EQ(text("XACKDEL", "s", "g", "KEEPREF", "DELREF", "IDS", 1, "1-0"), syntax);
  EXPECT_EQ(text("XDELEX", "s", "ACKED", "ACKED", "IDS", 1, "1-0"), syntax);
  EXPECT_EQ(text("XDELEX", "s", "ACKED", "KEEPREF", "DELREF"), syntax);
  EXPECT_EQ(text("XDELEX", "s", "IDS", 1, "x-0"),
            "(error) ERR Invalid stream ID specified as stream command argument");
  EXPECT_EQ(ids(), "1-0 2-0 3-0 4-0 ");
}

// ---- XACKDEL ----

TEST_F(StreamRemovalsTest, XackdelAcknowledgesAndRemoves) {
  EXPECT_EQ(text("XACKDEL", "s", "g", "IDS", 3, "1-0", "2-0", "4-0"),
            "[(integer) 1, (integer) 1, (integer) -1]");
  EXPECT_EQ(ids(), "3-0 4-0 ");
  EXPECT_EQ(pending("g"), "3-0 ");
  EXPECT_EQ(pending("h"), "1-0 2-0 3-0 ");
  EXPECT_EQ(text("XACKDEL", "s", "h", "KEEPREF", "IDS", 1, "1-0"), kRemoved)
      << "the entry is gone already";
  EXPECT_EQ(pending("h"), "2-0 3-0 ");
}

TEST_F(StreamRemovalsTest, XackdelWithDelrefForgetsAllReferences) {
  EXPECT_EQ(text("XACKDEL", "s", "g", "DELREF", "IDS", 2, "1-0", "2-0"),
            "[(integer) 1, (integer) 1]");
  EXPECT_EQ(pending("h"), "3-0 ");
  EXPECT_EQ(text("XACKDEL", "s", "h", "DELREF", "IDS", 1, "1-0"), kNone);
}

TEST_F(StreamRemovalsTest, XackdelWithAckedWaitsForAllGroups) {
  EXPECT_EQ(text("XACKDEL", "s", "g", "ACKED", "IDS", 1, "1-0"), kAwaited);
  EXPECT_EQ(pending("g"), "2-0 3-0 ");
  EXPECT_EQ(ids(), "1-0 2-0 3-0 4-0 ");
  EXPECT_EQ(text("XACKDEL", "s", "h", "ACKED", "IDS", 1, "1-0"), kRemoved);
  EXPECT_EQ(ids(), "2-0 3-0 4-0 ");
}

// ---- Trims ----

TEST_F(StreamRemovalsTest, TrimKeepsReferencesByDefault) {
  EXPECT_EQ(text("XTRIM", "s", "MAXLEN", 2, "KEEPREF"), "(integer) 2");
  EXPECT_EQ(pending("g"), "1-0 2-0 3-0 ");
}

TEST_F(StreamRemovalsTest, TrimWithDelrefForgetsReferences) {
  EXPECT_EQ(text("XTRIM", "s", "MAXLEN", 2, "DELREF"), "(integer) 2");
  EXPECT_EQ(pending("g"), "3-0 ");
  EXPECT_EQ(pending("h"), "3-0 ");
  EXPECT_EQ(text("XADD", "s", "DELREF", "MAXLEN", 0, "5-0", "f", "v"), "\"5-0\"");
  EXPECT_EQ(ids(), "");
  EXPECT_EQ(pending("g"), "");
}

TEST_F(StreamRemovalsTest, TrimWithAckedSkipsAwaitedEntries) {
  EXPECT_EQ(text("XTRIM", "s", "MAXLEN", 0, "ACKED"), "(integer) 0");
  run("XACK", "s", "g", "2-0", "3-0");
  run("XACK", "s", "h", "2-0", "3-0");
  EXPECT_EQ(text("XTRIM", "s", "ACKED", "MINID", "3-0"), "(integer) 1");
  EXPECT_EQ(ids(), "1-0 3-0 4-0 ");
  EXPECT_EQ(text("XTRIM", "s", "MAXLEN", 2, "ACKED"), "(integer) 1");
  EXPECT_EQ(ids(), "1-0 4-0 ");
  EXPECT_EQ(text("XTRIM", "s", "MAXLEN", 1, "ACKED", "DELREF"), "(error) ERR syntax error");
}

TEST_F(StreamRemovalsTest, TrimOfNodesWithAckedStaysWithinThem) {
  for (int ms = 5; ms <= 250; ++ms) add(ms);
  run("XGROUP", "DESTROY", "s", "h");
  run("XREADGROUP", "GROUP", "g", "one", "NOACK", "STREAMS", "s", ">");
  EXPECT_EQ(text("XTRIM", "s", "MAXLEN", "~", 140, "ACKED"), "(integer) 97");
  EXPECT_EQ(text("XLEN", "s"), "(integer) 153");
}

// ---- XREADGROUP with CLAIM ----

TEST_F(StreamRemovalsTest, ClaimDeliversIdleEntriesFirst) {
  advance_ms(100);
  run("XCLAIM", "s", "h", "two", 0, "1-0");
  advance_ms(50);
  EXPECT_EQ(text("XREADGROUP", "GROUP", "h", "three", "CLAIM", 50, "STREAMS", "s", ">"),
            R"([["s", [["2-0", ["f", "2"], (integer) 150, (integer) 1], )"
            R"(["3-0", ["f", "3"], (integer) 150, (integer) 1], )"
            R"(["1-0", ["f", "1"], (integer) 50, (integer) 2], )"
            R"(["4-0", ["f", "4"], (integer) 0, (integer) 0]]]])");
  EXPECT_EQ(text("XPENDING", "s", "h", "-", "+", 2, "three"),
            R"([["1-0", "three", (integer) 0, (integer) 3], )"
            R"(["2-0", "three", (integer) 0, (integer) 2]])");
}

TEST_F(StreamRemovalsTest, ClaimRespectsIdleTimeAndCount) {
  advance_ms(49);
  EXPECT_EQ(text("XREADGROUP", "GROUP", "g", "three", "CLAIM", 50, "STREAMS", "s", ">"),
            "(nil array)");
  advance_ms(1);
  EXPECT_EQ(text("XREADGROUP", "CLAIM", 50, "GROUP", "h", "three", "COUNT", 1, "STREAMS", "s", ">"),
            R"([["s", [["1-0", ["f", "1"], (integer) 50, (integer) 1]]]])");
  EXPECT_EQ(text("XREADGROUP", "GROUP", "h", "three", "COUNT", 3, "CLAIM", 50, "NOACK", "STREAMS",
                 "s", ">"),
            R"([["s", [["2-0", ["f", "2"], (integer) 50, (integer) 1], )"
            R"(["3-0", ["f", "3"], (integer) 50, (integer) 1], )"
            R"(["4-0", ["f", "4"], (integer) 0, (integer) 0]]]])");
  EXPECT_EQ(pending("h"), "1-0 2-0 3-0 ");
}

TEST_F(StreamRemovalsTest, ClaimOmitsDeletedEntriesAndHistory) {
  run("XDEL", "s", "1-0", "2-0");
  EXPECT_EQ(text("XREADGROUP", "GROUP", "g", "one", "CLAIM", 0, "STREAMS", "s", "2-0"),
            R"([["s", [["3-0", ["f", "3"]]]]])");
  EXPECT_EQ(text("XREADGROUP", "GROUP", "g", "one", "CLAIM", 0, "STREAMS", "s", ">"),
            R"([["s", [["3-0", ["f", "3"], (integer) 0, (integer) 2]]]])");
}

TEST_F(StreamRemovalsTest, ClaimWithoutIdleTimeDeliversEachOnce) {
  for (int ms = 5; ms <= 200; ++ms) add(ms);
  run("XREADGROUP", "GROUP", "h", "one", "COUNT", 100, "STREAMS", "s", ">");
  advance_ms(10);
  run("XREADGROUP", "GROUP", "h", "one", "STREAMS", "s", ">");
  const Reply reply =
      run("XREADGROUP", "GROUP", "h", "three", "CLAIM", 0, "COUNT", 150, "STREAMS", "s", ">");
  const std::vector<Reply>& entries = reply.elements()[0].elements()[1].elements();
  ASSERT_EQ(entries.size(), 150U);
  std::set<std::string> ids;
  for (const Reply& entry : entries) ids.insert(entry.elements()[0].text());
  EXPECT_EQ(ids.size(), 150U);
  EXPECT_EQ(entries[0].elements()[0].text(), "1-0");
  EXPECT_EQ(entries[149].elements()[0].text(), "150-0");
  EXPECT_EQ(run("XREADGROUP", "GROUP", "h", "two", "CLAIM", 0, "STREAMS", "s", ">")
                .elements()[0]
                .elements()[1]
                .elements()
                .size(),
            200U);
}

TEST_F(StreamRemovalsTest, WrongClaimIsError) {
  EXPECT_EQ(text("XREADGROUP", "GROUP", "g", "one", "CLAIM", "x", "STREAMS", "s", ">"),
            "(error) ERR min-idle-time is not an integer or out of range");
  EXPECT_EQ(text("XREADGROUP", "GROUP", "g", "one", "CLAIM", -1, "STREAMS", "s", ">"),
            "(error) ERR min-idle-time must be a positive integer");
  EXPECT_EQ(text("XREAD", "CLAIM", 5, "STREAMS", "s", "0"),
            "(error) ERR The CLAIM option is only supported by XREADGROUP. You called XREAD "
            "instead.");
}

}  // namespace
}  // namespace rushgate
