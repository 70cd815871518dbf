#include "tests/unit/script/scripting_commands.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rushgate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(ScriptingCommandsTest, EvalCallsCommands) {
  EXPECT_EQ(text("EVAL", "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])", 1,
                 "k", "v"),
            R"("v")");
  EXPECT_EQ(text("GET", "k"), R"("v")");
}

TEST_F(ScriptingCommandsTest, EvalshaRunsLoadedScript) {
  constexpr const char* kSha1 = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
  EXPECT_EQ(text("EVALSHA", kSha1, 0), "(error) NOSCRIPT No matching script. Please use EVAL.");
  EXPECT_EQ(run("SCRIPT", "LOAD", "return 1"), Reply::bulk(kSha1));
  EXPECT_EQ(run("EVALSHA", kSha1, 0), Reply::integer(1));
  EXPECT_EQ(run("EVALSHA", "E0E1F9FABFC9D4800C877A703B823AC0578FF8DB", 0), Reply::integer(1));
  EXPECT_EQ(run("EVALSHA_RO", kSha1, 0), Reply::integer(1));
  EXPECT_EQ(text("EVALSHA", "x", "not a number"),
            "(error) NOSCRIPT No matching script. Please use EVAL.");
  EXPECT_EQ(text("EVALSHA", kSha1, "x"), "(error) ERR value is not an integer or out of range");
}

TEST_F(ScriptingCommandsTest, NumberOfKeysIsChecked) {
  EXPECT_EQ(text("EVAL", "x y", "x"), "(error) ERR value is not an integer or out of range");
  EXPECT_EQ(text("EVAL", "x y", -1), "(error) ERR Number of keys can't be negative");
  EXPECT_EQ(text("EVAL", "x y", 2, "k"),
            "(error) ERR Number of keys can't be greater than number of args");
}

TEST_F(ScriptingCommandsTest, FailedScriptKeepsItsWrites) {
  EXPECT_TRUE(run("EVAL", "redis.call('SET', 'k', 1) error('x')", 0).is_error());
  EXPECT_EQ(text("GET", "k"), R"("1")");
}

TEST_F(ScriptingCommandsTest, FailedScriptIsUndoneOnRequest) {
  services_.roll_back_failed_scripts = true;
  run("SET", "k", 1);
  EXPECT_TRUE(
      run("EVAL", "redis.call('SET', 'k', 2) redis.call('SADD', 's', 1) error('x')", 0).is_error());
  EXPECT_EQ(text("GET", "k"), R"("1")");
  EXPECT_EQ(run("EXISTS", "s"), Reply::integer(0));
  EXPECT_EQ(text("EVAL", "redis.call('SET', 'k', 3) return {err = 'X returned'}", 0),
            "(error) X returned");
  EXPECT_EQ(text("GET", "k"), R"("3")");
}

TEST_F(ScriptingCommandsTest, ReadOnlyScriptsCannotWrite) {
  run("SET", "k", 1);
  EXPECT_EQ(text("EVAL_RO", "return redis.call('GET', 'k')", 0), R"("1")");
  constexpr const char* kRefusal =
      "(error) ERR Write commands are not allowed from read-only scripts.";
  EXPECT_EQ(text("EVAL_RO", "return redis.pcall('SET', 'k', 2)", 0), kRefusal);
  EXPECT_EQ(text("EVAL", "#!lua flags=no-writes\nreturn redis.pcall('SET', 'k', 2)", 0), kRefusal);
  EXPECT_EQ(text("EVAL_RO", "#!lua\nreturn 1", 0),
            "(error) ERR Can not execute a script with write flag using *_ro command.");
  EXPECT_EQ(text("EVAL_RO", "#!lua flags=no-writes\nreturn 1", 0), "(integer) 1");
  EXPECT_EQ(text("GET", "k"), R"("1")");
}

TEST_F(ScriptingCommandsTest, ScriptsCannotCallScripts) {
  for (const char* call :
       {"'EVAL', 'return 1', 0", "'EVALSHA', 'x', 0", "'FCALL', 'x', 0", "'SCRIPT', 'FLUSH'"}) {
    EXPECT_EQ(text("EVAL", "return redis.pcall(" + std::string(call) + ")", 0),
              "(error) ERR This Redis command is not allowed from script");
  }
}

TEST_F(ScriptingCommandsTest, SelectionEndsWithScript) {
  run("EVAL", "redis.call('SELECT', 3) redis.call('SET', 'k', 1)", 0);
  EXPECT_EQ(session_.db, 0);
  EXPECT_EQ(run("EXISTS", "k"), Reply::integer(0));
  EXPECT_EQ(keyspace_.db(3).size(), 1U);
}

TEST_F(ScriptingCommandsTest, FcallRunsNativeScripts) {
  natives_.add("add",
               [](NativeCall& call) { return Reply::integer(call.increment_by(call.key(0), 2)); });
  EXPECT_EQ(run("FCALL", "add", 1, "n"), Reply::integer(2));
  session_.db = 5;
  EXPECT_EQ(run("FCALL", "add", 1, "n"), Reply::integer(2));
  EXPECT_EQ(text("FCALL", "none", "x"), "(error) ERR Function not found");
  EXPECT_EQ(text("FCALL", "add", "x"), "(error) ERR Bad number of keys provided");
  EXPECT_EQ(text("FCALL", "add", 5),
            "(error) ERR Number of keys can't be greater than number of args");
}

TEST_F(ScriptingCommandsTest, NativeScriptsAreRefusedWithOtherWrites) {
  natives_.add("one", [](NativeCall&) { return Reply::integer(1); });
  EXPECT_EQ(text("FCALL", "one", 0), "(integer) 1");
  services_.write_refusal = "MISCONF it failed";
  EXPECT_EQ(text("FCALL", "one", 0), "(error) MISCONF it failed");
  EXPECT_EQ(text("FCALL", "nosuch", 0), "(error) ERR Function not found");
}

TEST_F(ScriptingCommandsTest, NativeScriptsCallCommands) {
  natives_.add("set", [](NativeCall& call) { return call.call(Request::of("SET", "k", 1)); });
  EXPECT_EQ(run("FCALL", "set", 0), Reply::ok());
  natives_.add("nest", [](NativeCall& call) { return call.call(Request::of("FCALL", "set", 0)); });
  EXPECT_EQ(text("FCALL", "nest", 0), "(error) ERR This Redis command is not allowed from script");
}

TEST_F(ScriptingCommandsTest, ErrorPassedByNativeScriptCountsOnce) {
  natives_.add("pass on", [](NativeCall& call) { return call.call(Request::of("INCR", "k")); });
  natives_.add("fail", [](NativeCall& call) {
    call.call(Request::of("INCR", "k"));
    return Reply::error("OTHER error");
  });
  run("SET", "k", "v");
  EXPECT_TRUE(run("FCALL", "pass on", 0).is_error());
  EXPECT_THAT(run("INFO", "errorstats").text(), HasSubstr("errorstat_ERR:count=1\r\n"));
  EXPECT_THAT(run("INFO", "commandstats").text(),
              HasSubstr("cmdstat_fcall:calls=1,usec=0,usec_per_call=0.00,rejected_calls=0,"
                        "failed_calls=1\r\n"));
  EXPECT_TRUE(run("FCALL", "fail", 0).is_error());
  EXPECT_THAT(run("INFO", "errorstats").text(), AllOf(HasSubstr("errorstat_ERR:count=2\r\n"),
                                                      HasSubstr("errorstat_OTHER:count=1\r\n")));
}

TEST_F(ScriptingCommandsTest, ScriptSubcommandsWork) {
  constexpr const char* kSha1 = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
  EXPECT_EQ(text("SCRIPT", "LOAD", "x y"),
            "(error) ERR Error compiling script (new function): user_script:1: '=' expected near "
            "'y'");
  run("SCRIPT", "load", "return 1");
  EXPECT_EQ(text("SCRIPT", "EXISTS", kSha1, "x"), "[(integer) 1, (integer) 0]");
  EXPECT_EQ(text("SCRIPT", "FLUSH", "x"),
            "(error) ERR SCRIPT FLUSH only support SYNC|ASYNC option");
  EXPECT_EQ(text("SCRIPT", "FLUSH", "SYNC", "ASYNC"),
            "(error) ERR SCRIPT FLUSH only support SYNC|ASYNC option");
  EXPECT_EQ(text("SCRIPT", "EXISTS", kSha1), "[(integer) 1]");
  EXPECT_EQ(run("SCRIPT", "FLUSH", "async"), Reply::ok());
  EXPECT_EQ(text("SCRIPT", "EXISTS", kSha1), "[(integer) 0]");
  EXPECT_EQ(run("SCRIPT", "FLUSH"), Reply::ok());
  EXPECT_EQ(text("SCRIPT", "KILL"), "(error) NOTBUSY No scripts in execution right now.");
  EXPECT_EQ(run("SCRIPT", "HELP").elements().size(), 17U);
}

TEST_F(ScriptingCommandsTest, ScriptSubcommandsCheckArity) {
  for (const std::string name : {"load", "exists"}) {
    EXPECT_EQ(text("SCRIPT", name),
              "(error) ERR wrong number of arguments for 'script|" + name + "' command");
  }
  for (const std::string name : {"kill", "help"}) {
    EXPECT_EQ(text("SCRIPT", name, "x"),
              "(error) ERR wrong number of arguments for 'script|" + name + "' command");
  }
  EXPECT_EQ(text("SCRIPT", "x"), "(error) ERR unknown subcommand 'x'. Try SCRIPT HELP.");
}

// ---- During a script that exceeds its time ----

TEST_F(ScriptingCommandsTest, KillEndsScriptBeforeFirstWrite) {
  while_busy_ = [&] {
    ASSERT_NE(services_.running_script, nullptr);
    EXPECT_EQ(services_.running_script->name, "694a5fe1ddb97a4c6a1bf299d9537c7d3d0f84e7");
    EXPECT_EQ(run("SCRIPT", "KILL"), Reply::ok());
  };
  EXPECT_EQ(text("EVAL", "while true do end", 0),
            "(error) ERR Script killed by user with SCRIPT KILL... script: "
            "694a5fe1ddb97a4c6a1bf299d9537c7d3d0f84e7, on @user_script:1.");
  EXPECT_EQ(services_.running_script, nullptr);
}

// In Redis the script may finish the line that catches the error.
TEST_F(ScriptingCommandsTest, KillCannotBeCaught) {
  while_busy_ = [&] { run("SCRIPT", "KILL"); };
  EXPECT_THAT(text("EVAL", "pcall(function() while true do end end) return 'survived'", 0),
              HasSubstr("Script killed by user"));
}

TEST_F(ScriptingCommandsTest, KillIsRefusedAfterWrite) {
  run("SET", "k", 1);
  int polls = 0;
  std::string refusal;
  while_busy_ = [&] {
    refusal = text("SCRIPT", "KILL");
    if (++polls == 2) services_.running_script->kill = true;  // only the executor may set it
  };
  run("EVAL", "redis.call('SET', 'k', 2) while true do end", 0);
  EXPECT_THAT(refusal,
              ::testing::StartsWith("(error) UNKILLABLE Sorry the script already executed"));
  EXPECT_EQ(polls, 2);
}

TEST_F(ScriptingCommandsTest, KillIsAlwaysGrantedWithRollback) {
  services_.roll_back_failed_scripts = true;
  run("SET", "k", 1);
  while_busy_ = [&] { EXPECT_EQ(run("SCRIPT", "KILL"), Reply::ok()); };
  EXPECT_TRUE(run("EVAL", "redis.call('SET', 'k', 2) while true do end", 0).is_error());
  EXPECT_EQ(text("GET", "k"), R"("1")");
}

TEST_F(ScriptingCommandsTest, InvalidCommandIsReportedDuringScript) {
  while_busy_ = [&] {
    EXPECT_THAT(text("NOSUCH"), ::testing::StartsWith("(error) ERR unknown command 'NOSUCH'"));
    EXPECT_THAT(text("GET"), ::testing::StartsWith("(error) ERR wrong number of arguments"));
    EXPECT_THAT(text("SCRIPT", "NOSUCH"), ::testing::StartsWith("(error) ERR unknown subcommand"));
    EXPECT_THAT(text("GET", "k"), ::testing::StartsWith("(error) BUSY"));
    run("SCRIPT", "KILL");
  };
  EXPECT_THAT(text("EVAL", "while true do end", 0), ::testing::HasSubstr("killed"));
}

TEST_F(ScriptingCommandsTest, OtherSubcommandsAreBusyDuringScript) {
  while_busy_ = [&] {
    for (const char* name : {"FLUSH", "HELP"}) {
      EXPECT_THAT(text("SCRIPT", name), ::testing::StartsWith("(error) BUSY Redis is busy"));
    }
    EXPECT_THAT(text("SCRIPT", "LOAD", "return 1"), ::testing::StartsWith("(error) BUSY"));
    run("SCRIPT", "KILL");
  };
  EXPECT_THAT(text("EVAL", "while true do end", 0), ::testing::HasSubstr("killed"));
}

}  // namespace
}  // namespace rushgate
