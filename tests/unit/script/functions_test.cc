#include <cstddef>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/redis/script/function_registry.h"
#include "tests/unit/script/scripting_commands.h"

namespace rushgate {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string library(const std::string& name, const std::string& function,
                    const std::string& body = "return 1") {
  return "#!lua name=" + name + "\nredis.register_function('" + function +
         "', function(keys, args) " + body + " end)";
}

class FunctionsTest : public ScriptingCommandsTest {
 protected:
  using ScriptingCommandsTest::ScriptingCommandsTest;

  void load(const std::string& name, const std::string& function,
            const std::string& body = "return 1") {
    EXPECT_EQ(run("FUNCTION", "LOAD", library(name, function, body)), Reply::bulk(name));
  }
  Changes& changes() { return keyspace_.changes(); }
  void commit() { EXPECT_TRUE(keyspace_.commit().ok()); }
};

// ---- Rollback ----

TEST_F(FunctionsTest, RollbackRemovesLoadedLibrary) {
  const Changes::Savepoint before = changes().savepoint();
  load("lib", "f");
  EXPECT_EQ(text("FCALL", "f", 0), "(integer) 1");
  changes().roll_back_to(before);
  EXPECT_EQ(text("FCALL", "f", 0), "(error) ERR Function not found");
  EXPECT_EQ(text("FUNCTION", "LIST"), "[]");
  load("lib", "f");
}

TEST_F(FunctionsTest, RollbackRestoresRemovedLibraries) {
  load("lib", "f");
  load("other", "g", "return 2");
  commit();
  for (const std::vector<std::string>& removal : std::vector<std::vector<std::string>>{
           {"DELETE", "lib"}, {"FLUSH", "SYNC"}, {"LOAD", library("new", "new")}}) {
    const Changes::Savepoint before = changes().savepoint();
    EXPECT_FALSE(run("FUNCTION", removal[0], removal[1]).is_error());
    EXPECT_EQ(run("FUNCTION", "LOAD", "REPLACE", library("lib", "h")), Reply::bulk("lib"));
    EXPECT_EQ(text("FCALL", "h", 0), "(integer) 1");
    changes().roll_back_to(before);
    EXPECT_EQ(text("FCALL", "f", 0), "(integer) 1");
    EXPECT_EQ(text("FCALL", "g", 0), "(integer) 2");
    EXPECT_EQ(text("FCALL", "h", 0), "(error) ERR Function not found");
  }
}

// ---- Native scripts ----

TEST_F(FunctionsTest, NativeScriptsAreNoFunctionsOfClients) {
  const std::string stats = text("FUNCTION", "STATS");
  natives_.add("one", [](NativeCall&) { return Reply::integer(1); });
  EXPECT_EQ(text("FUNCTION", "LIST"), "[]");
  EXPECT_EQ(text("FUNCTION", "STATS"), stats);
  EXPECT_THAT(run("INFO", "memory").text(),
              HasSubstr("number_of_functions:0\r\nnumber_of_libraries:0\r\n"));
  EXPECT_EQ(text("FUNCTION", "DELETE", "native"), "(error) ERR Library not found");
  EXPECT_EQ(run("FUNCTION", "LOAD", library("native", "f")), Reply::bulk("native"));
}

TEST_F(FunctionsTest, NativeScriptsCannotBeRemoved) {
  natives_.add("one", [](NativeCall&) { return Reply::integer(1); });
  EXPECT_EQ(run("FUNCTION", "FLUSH"), Reply::ok());
  const std::string nothing = run("FUNCTION", "DUMP").text();
  EXPECT_EQ(run("FUNCTION", "RESTORE", nothing, "FLUSH"), Reply::ok());
  EXPECT_EQ(text("FCALL", "one", 0), "(integer) 1");
}

TEST_F(FunctionsTest, NamesOfNativeScriptsAreTaken) {
  natives_.add("one", [](NativeCall&) { return Reply::integer(1); });
  for (const char* name : {"one", "ONE"}) {
    EXPECT_EQ(text("FUNCTION", "LOAD", library("lib", name)),
              "(error) ERR Function " + std::string(name) + " already exists");
  }
}

TEST_F(FunctionsTest, ReadOnlyCallOfNativeScriptIsRefused) {
  natives_.add("one", [](NativeCall&) { return Reply::integer(1); });
  EXPECT_EQ(text("FCALL_RO", "one", 0),
            "(error) ERR Can not execute a script with write flag using *_ro command.");
  EXPECT_EQ(text("FCALL_RO", "one", "x"), "(error) ERR Bad number of keys provided");
}

// ---- A store that failed ----

TEST_F(FunctionsTest, WritingFunctionsAreRefusedWithOtherWrites) {
  load("lib", "writes");
  run("FUNCTION", "LOAD",
      "#!lua name=reader\nredis.register_function{function_name = 'reads', flags = {'no-writes'}, "
      "callback = function() return 1 end}");
  services_.write_refusal = "MISCONF it failed";
  EXPECT_EQ(text("FCALL", "writes", 0), "(error) MISCONF it failed");
  EXPECT_EQ(text("FCALL", "reads", 0), "(integer) 1");
  EXPECT_EQ(text("FUNCTION", "FLUSH"), "(error) MISCONF it failed");
}

TEST_F(FunctionsTest, FailedFunctionIsUndoneOnRequest) {
  services_.roll_back_failed_scripts = true;
  load("lib", "f", "redis.call('SET', 'k', 1) error('x')");
  EXPECT_TRUE(run("FCALL", "f", 0).is_error());
  EXPECT_EQ(run("EXISTS", "k"), Reply::integer(0));
}

// ---- During a function that exceeds its time ----

TEST_F(FunctionsTest, KillEndsFunctionBeforeFirstWrite) {
  load("lib", "loop", "while true do end");
  while_busy_ = [&] {
    EXPECT_THAT(
        text("FUNCTION", "STATS"),
        StartsWith(R"({"running_script", {"name", "loop", "command", ["FCALL", "LOOP", "1", )"
                   R"("k", "a"], "duration_ms", (integer) )"));
    for (const char* name : {"LIST", "FLUSH", "DUMP"}) {
      EXPECT_EQ(text("FUNCTION", name),
                "(error) BUSY Redis is busy running a script. You can only call FUNCTION KILL or "
                "SHUTDOWN NOSAVE.");
    }
    EXPECT_THAT(text("SCRIPT", "KILL"), HasSubstr("You can only call FUNCTION KILL"));
    EXPECT_EQ(run("FUNCTION", "KILL"), Reply::ok());
  };
  EXPECT_EQ(text("FCALL", "LOOP", 1, "k", "a"),
            "(error) ERR Script killed by user with SCRIPT KILL... script: loop, on "
            "@user_function:2.");
  EXPECT_EQ(text("FUNCTION", "KILL"), "(error) NOTBUSY No scripts in execution right now.");
}

TEST_F(FunctionsTest, KillOfFunctionIsRefusedDuringScript) {
  while_busy_ = [&] {
    for (const char* name : {"KILL", "STATS"})
      EXPECT_THAT(text("FUNCTION", name), HasSubstr("You can only call SCRIPT KILL"));
    EXPECT_EQ(run("SCRIPT", "KILL"), Reply::ok());
  };
  EXPECT_THAT(text("EVAL", "while true do end", 0), HasSubstr("killed"));
}

// ---- Bounds ----

TEST_F(FunctionsTest, NumberOfFunctionsIsBounded) {
  EXPECT_EQ(text("FUNCTION", "LOAD",
                 "#!lua name=lib\nfor i = 1, 5000 do redis.register_function('f' .. i, function() "
                 "end) end"),
            "(error) ERR Error registering functions: ERR too many functions");
  load("lib", "f");
}

TEST_F(FunctionsTest, NumberOfLibrariesIsBounded) {
  for (std::size_t i = 0; i < LibrarySet::kLibrariesMax; ++i)
    load("l" + std::to_string(i), "f" + std::to_string(i));
  EXPECT_EQ(text("FUNCTION", "LOAD", library("more", "more")),
            "(error) ERR too many function libraries");
  EXPECT_EQ(run("FUNCTION", "LOAD", "REPLACE", library("l7", "f7")), Reply::bulk("l7"));
}

class FunctionMemoryTest : public FunctionsTest {
 protected:
  static constexpr std::size_t kLimit = std::size_t{4} << 20;
  static constexpr std::size_t kLarge = std::size_t{1} << 20;

  FunctionMemoryTest() : FunctionsTest({.memory_bytes_max = kLimit}) {}
};

TEST_F(FunctionMemoryTest, SourceCountsTowardMemoryOfScripts) {
  const std::size_t before = lua_.memory_bytes();
  load("lib", "f", "--" + std::string(kLarge, 'x') + "\n");
  EXPECT_GE(lua_.memory_bytes(), before + kLarge);
  EXPECT_THAT(
      text("FUNCTION", "LOAD", library("more", "g", "--" + std::string(kLimit, 'x') + "\n")),
      HasSubstr("not enough memory"));
  run("FUNCTION", "DELETE", "lib");
  commit();
  EXPECT_LT(lua_.memory_bytes(), before + kLarge);
}

TEST_F(FunctionMemoryTest, ReplacedLibrariesFreeTheirMemory) {
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(run("FUNCTION", "LOAD", "REPLACE",
                  library("lib", "f", "return #'" + std::string(kLarge / 2, 'x') + "'")),
              Reply::bulk("lib"));
    commit();
  }
  EXPECT_EQ(run("FCALL", "f", 0), Reply::integer(kLarge / 2));
  EXPECT_LT(lua_.memory_bytes(), kLimit);
}

TEST_F(FunctionMemoryTest, DescriptionsCountTowardMemoryOfScripts) {
  EXPECT_THAT(text("FUNCTION", "LOAD",
                   "#!lua name=lib\nlocal text = ('x'):rep(100000)\nfor i = 1, 100 do "
                   "redis.register_function{function_name = 'f' .. i, callback = function() end, "
                   "description = text} end"),
              HasSubstr("not enough memory"));
  EXPECT_LT(lua_.memory_bytes(), kLimit / 2);
  load("lib", "f");
}

}  // namespace
}  // namespace rushgate
