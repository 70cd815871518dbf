#include <memory>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include "tests/unit/script/lua_test.h"

namespace rushgate {
namespace {

class LuaRedisApiTest : public LuaTest {
 protected:
  static std::string failed(const std::string& error) {
    return "(error) " + error + " script: <sha1>, on @user_script:1.";
  }
};

TEST_F(LuaRedisApiTest, CallRaisesErrorThatPcallReturns) {
  on_call_ = [] { return Reply::error("CODE went wrong"); };
  EXPECT_EQ(text("redis.call('x') return 1"), failed("CODE went wrong"));
  EXPECT_EQ(text("return redis.pcall('x')"), "(error) CODE went wrong");
  EXPECT_EQ(text("return redis.pcall('x').err"), R"("CODE went wrong")");
}

TEST_F(LuaRedisApiTest, CatchingFunctionsReturnErrorsTheirWay) {
  on_call_ = [] { return Reply::error("CODE went wrong"); };
  EXPECT_EQ(text("local ok, e = pcall(redis.call, 'x') return {tostring(ok), e}"),
            R"(["false", "CODE went wrong"])");
  EXPECT_EQ(text("local ok, e = xpcall(function() redis.call('x') end, function(m) return m end) "
                 "return {tostring(ok), e.err, tostring(e.line)}"),
            R"(["false", "CODE went wrong", "nil"])");
  EXPECT_EQ(text("local co = coroutine.create(function() redis.call('x') end) "
                 "local ok, e = coroutine.resume(co) return {tostring(ok), e.err}"),
            R"(["false", "CODE went wrong"])");
}

TEST_F(LuaRedisApiTest, CommandsRunInsideCoroutines) {
  EXPECT_EQ(eval("return coroutine.wrap(function() return redis.call('set', 'k', 1) end)()"),
            Reply::ok());
  ASSERT_EQ(calls_.size(), 1U);
  EXPECT_EQ(calls_[0], Request::of("set", "k", 1));
}

TEST_F(LuaRedisApiTest, ErrorReplyMakesErrorTable) {
  EXPECT_EQ(eval("return redis.error_reply('CODE text')"), Reply::error("CODE text"));
  EXPECT_EQ(eval("return redis.error_reply('-CODE text')"), Reply::error("CODE text"));
  EXPECT_EQ(eval("return redis.error_reply('text')"), Reply::error("ERR text"));
  EXPECT_EQ(eval("return redis.error_reply('')"), Reply::error("ERR "));
  EXPECT_EQ(eval("return redis.error_reply('x y\\r\\n').err"), Reply::bulk("x y"));
  EXPECT_EQ(eval("return redis.error_reply('a\\0b c').err"), Reply::bulk("ERR a"));
  for (const char* arguments : {"", "1", "{}", "'a', 'b'"}) {
    EXPECT_EQ(eval("return redis.error_reply(" + std::string(arguments) + ")"),
              Reply::error("ERR wrong number or type of arguments"));
  }
}

TEST_F(LuaRedisApiTest, StatusReplyMakesStatusTable) {
  EXPECT_EQ(eval("return redis.status_reply('FINE')"), Reply::status("FINE"));
  EXPECT_EQ(eval("return redis.status_reply('a\\nb')"), Reply::status("a b"));
  EXPECT_EQ(eval("return redis.status_reply(1)"),
            Reply::error("ERR wrong number or type of arguments"));
}

TEST_F(LuaRedisApiTest, Sha1HexReturnsSha1) {
  EXPECT_EQ(text("return redis.sha1hex('')"), R"("da39a3ee5e6b4b0d3255bfef95601890afd80709")");
  EXPECT_EQ(text("return redis.sha1hex({})"), R"("da39a3ee5e6b4b0d3255bfef95601890afd80709")");
  EXPECT_EQ(text("return redis.sha1hex(1)"), R"("356a192b7913b04c54574d18c28d46e6395428ab")");
  EXPECT_EQ(text("return redis.sha1hex()"), failed("ERR wrong number of arguments"));
}

TEST_F(LuaRedisApiTest, LogReachesLogger) {
  std::ostringstream out;
  logger_ =
      std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::ostream_sink_mt>(out));
  logger_->set_pattern("%l:%v");
  logger_->set_level(spdlog::level::trace);
  eval(
      "redis.log(redis.LOG_DEBUG, 'a') redis.log(redis.LOG_VERBOSE, 'b') "
      "redis.log(redis.LOG_NOTICE, 'c', nil, true, 4.5) redis.log(redis.LOG_WARNING, {}, 'd {}')");
  EXPECT_EQ(out.str(), "trace:a\ndebug:b\ninfo:c 4.5\nwarning: d {}\n");
}

TEST_F(LuaRedisApiTest, LogWithoutLoggerDoesNothing) {
  EXPECT_EQ(eval("return redis.log(redis.LOG_WARNING, 'x')"), Reply::nil());
}

TEST_F(LuaRedisApiTest, LogChecksItsArguments) {
  EXPECT_EQ(text("redis.log(1)"), failed("ERR redis.log() requires two arguments or more."));
  EXPECT_EQ(text("redis.log('a', 'b')"),
            failed("ERR First argument must be a number (log level)."));
  for (const char* level : {"-1", "4", "1/0", "0/0"}) {
    EXPECT_EQ(text("redis.log(" + std::string(level) + ", 'b')"),
              failed("ERR Invalid debug level."));
  }
}

TEST_F(LuaRedisApiTest, SetrespAffectsCommandsUntilScriptEnds) {
  eval("redis.setresp(3)");
  EXPECT_EQ(protocol_, 3);
  EXPECT_EQ(eval("return true"), Reply::integer(1));
  EXPECT_EQ(text("redis.setresp(4)"), failed("ERR RESP version must be 2 or 3."));
  EXPECT_EQ(text("redis.setresp()"), failed("ERR redis.setresp() requires one argument."));
}

TEST_F(LuaRedisApiTest, ReplicationFunctionsDoNothing) {
  EXPECT_EQ(eval("redis.set_repl(redis.REPL_NONE) redis.set_repl(redis.REPL_ALL) "
                 "return redis.replicate_commands()"),
            Reply::integer(1));
  EXPECT_EQ(text("redis.set_repl(4)"),
            failed("ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or "
                   "REPL_NONE."));
  EXPECT_EQ(text("redis.set_repl()"), failed("ERR redis.set_repl() requires two arguments."));
}

TEST_F(LuaRedisApiTest, VersionIsThatOfRedis) {
  EXPECT_EQ(text("return {redis.REDIS_VERSION, redis.REDIS_VERSION_NUM}"),
            R"(["7.0.15", (integer) 458767])");
}

}  // namespace
}  // namespace rushgate
