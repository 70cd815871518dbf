// MIGRATE of `rushgate serve`, beside that of a redis-server. The targets are redis-servers.
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/served/migrate_command.h"
#include "tests/support/program.h"
#include "tests/support/redis_server/raw_connection.h"
#include "tests/support/redis_server/redis_server.h"
#include <rushgate/memory_store.h>

namespace rushgate {
namespace {

using ::testing::AllOf;
using ::testing::Gt;
using ::testing::Le;
using testing::RawConnection;
using testing::RedisServer;
using ::testing::StartsWith;

using Words = std::vector<std::string>;

Request request_of(const Words& words) {
  Request request;
  for (const std::string& word : words) request.add(word);
  return request;
}

/// A redis-server that migrations can reach.
class Target {
 public:
  explicit Target(std::vector<std::string> arguments = {}, const std::string& password = "")
      : server_({.arguments = std::move(arguments), .listens_on_tcp = true}) {
    if (!password.empty()) call({"AUTH", password});
    port_ = call({"CONFIG", "GET", "port"}).elements().at(1).text();
  }

  [[nodiscard]] RedisServer& server() { return server_; }
  [[nodiscard]] const std::string& port() const { return port_; }
  Reply call(const Words& words) { return client_.call(request_of(words)); }

  /// Returns `MIGRATE 127.0.0.1 <port>`, followed by `more`.
  [[nodiscard]] Words migrate(const Words& more) const {
    Words words = {"MIGRATE", "127.0.0.1", port_};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

 private:
  RedisServer server_;
  RawConnection client_{server_.socket_path()};
  std::string port_;
};

/// A server whose keys are moved.
class Source {
 public:
  explicit Source(const std::string& socket) : client_(socket), second_(socket) {}

  Reply call(const Words& words) { return client_.call(request_of(words)); }
  void set_up(const std::vector<Words>& commands) {
    for (const Words& words : commands) EXPECT_FALSE(call(words).is_error()) << words[0];
  }
  /// Sends the request on a connection of its own. Returns when it has read `keys` keys.
  RawConnection& begin(const Words& words, std::int64_t keys) {
    const std::int64_t before = lookups();
    second_.send(request_of(words));
    while (lookups() < before + keys) std::this_thread::yield();
    return second_;
  }

 private:
  std::int64_t lookups() {
    const std::string info = call({"INFO", "stats"}).text();
    constexpr std::string_view kField = "keyspace_hits:";
    return std::stoll(info.substr(info.find(kField) + kField.size()));
  }

  RawConnection client_;
  RawConnection second_;
};

class ProgramMigrateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(program_.wait_for_error_text("serving on ")) << program_.error_text();
    ours_ = std::make_unique<Source>(socket());
  }

  [[nodiscard]] std::string socket() const { return (directory_.path() / "socket").string(); }

  const TemporaryDirectory directory_{TemporaryDirectory::Where::kInTmp};
  Program program_{{"serve", "--port", "0", "--unixsocket", socket()}};
  std::unique_ptr<Source> ours_;
};

/// Commands that prepare the source and the target, and the arguments of MIGRATE after the port.
struct MigrationCase {
  std::vector<Words> source;
  std::vector<Words> target;
  Words arguments;
};

std::vector<MigrationCase> migration_cases() {
  const Words set_a = {"SET", "a", "1"};
  const Words set_b = {"RPUSH", "b", "x", "y"};
  const Words busy_a = {"SET", "a", "old"};
  return {
      {{}, {}, {"none", "0", "1000"}},
      {{set_a}, {}, {"a", "0", "1000"}},
      {{{"SET", "a", "1", "PX", "500000"}}, {}, {"a", "0", "1000"}},
      {{set_a, set_b, {"HSET", "c", "f", "v"}}, {}, {"", "0", "1000", "KEYS", "a", "b", "no", "c"}},
      {{set_a}, {}, {"a", "0", "0", "copy"}},
      {{set_a}, {}, {"a", "3", "1000"}},
      {{set_a}, {busy_a}, {"a", "0", "1000"}},
      {{set_a}, {busy_a}, {"a", "0", "1000", "REPLACE"}},
      {{set_a, set_b}, {busy_a}, {"", "0", "1000", "KEYS", "a", "b"}},
      {{set_a}, {}, {"", "0", "1000", "KEYS", "a", "a"}},
      {{set_a}, {}, {"", "0", "1000", "REPLACE", "KEYS", "a", "a"}},
      {{set_a}, {}, {"", "0", "1000", "KEYS"}},
      {{set_a}, {}, {"a", "0", "1000", "KEYS", "a"}},
      {{set_a}, {}, {"a", "0", "1000", "AUTH"}},
      {{set_a}, {}, {"a", "0", "1000", "AUTH2", "user"}},
      {{set_a}, {}, {"a", "0", "1000", "FAST"}},
      {{set_a}, {}, {"a", "zero", "1000"}},
      {{set_a}, {}, {"a", "0", "soon"}},
      {{set_a}, {}, {"a", "0", "soon", "FAST"}},
      {{set_a}, {}, {"a", "0"}},
  };
}

/// Returns the values of the keys of the cases, in the databases that they use.
std::string contents_of(const std::function<Reply(const Words&)>& call) {
  std::string contents;
  for (const char* const database : {"3", "0"}) {
    call({"SELECT", database});
    for (const char* const key : {"a", "b", "c"}) {
      contents += to_debug_string(call({"TYPE", key})) + " ";
      contents += to_debug_string(call({"OBJECT", "ENCODING", key})) + " ";
    }
    contents += to_debug_string(call({"GET", "a"})) + "; ";
  }
  return contents;
}

TEST_F(ProgramMigrateTest, RepliesAndKeysEqualRedis) {
  const RedisServer redis;
  Source theirs(redis.socket_path());
  Target target;
  for (const MigrationCase& one : migration_cases()) {
    std::vector<std::string> outcomes;
    for (Source* const source : {ours_.get(), &theirs}) {
      target.call({"FLUSHALL"});
      for (const Words& words : one.target) target.call(words);
      source->set_up({{"FLUSHALL"}});
      source->set_up(one.source);
      const Reply reply = source->call(target.migrate(one.arguments));
      outcomes.push_back(
          to_debug_string(reply) +
          "\nsource: " + contents_of([&](const Words& words) { return source->call(words); }) +
          "\ntarget: " + contents_of([&](const Words& words) { return target.call(words); }));
    }
    EXPECT_EQ(outcomes[0], outcomes[1]) << ::testing::PrintToString(one.arguments);
  }
}

TEST_F(ProgramMigrateTest, ExpiryMovesToo) {
  Target target;
  ours_->set_up({{"SET", "a", "1", "PX", "500000"}});
  EXPECT_EQ(ours_->call(target.migrate({"a", "0", "1000"})), Reply::ok());
  EXPECT_THAT(target.call({"PTTL", "a"}).integer(), AllOf(Gt(0), Le(500'000)));
}

TEST_F(ProgramMigrateTest, PasswordIsCheckedAsByRedis) {
  const RedisServer redis;
  Source theirs(redis.socket_path());
  Target target({"--requirepass", "secret"}, "secret");
  for (const Words& login : std::vector<Words>{
           {}, {"AUTH", "wrong"}, {"AUTH", "secret"}, {"AUTH2", "default", "secret"}}) {
    Words arguments = {"a", "0", "1000", "REPLACE"};
    arguments.insert(arguments.end(), login.begin(), login.end());
    theirs.set_up({{"SET", "a", "1"}});
    ours_->set_up({{"SET", "a", "1"}});
    EXPECT_EQ(ours_->call(target.migrate(arguments)), theirs.call(target.migrate(arguments)));
    EXPECT_EQ(ours_->call({"EXISTS", "a"}), theirs.call({"EXISTS", "a"}));
  }
  EXPECT_EQ(target.call({"GET", "a"}), Reply::bulk("1"));
}

TEST_F(ProgramMigrateTest, RefusedLoginRestoresNothing) {
  const RedisServer redis;
  Source theirs(redis.socket_path());
  Target target;
  const Words words = target.migrate({"a", "0", "1000", "AUTH2", "nobody", "wrong"});
  ours_->set_up({{"SET", "a", "1"}});
  theirs.set_up({{"SET", "a", "1"}});
  const Reply reply = ours_->call(words);
  EXPECT_EQ(target.call({"DBSIZE"}), Reply::integer(0));
  EXPECT_EQ(reply, theirs.call(words));
  EXPECT_EQ(ours_->call({"GET", "a"}), Reply::bulk("1"));
}

TEST_F(ProgramMigrateTest, UnreachableTargetIsIoError) {
  const RedisServer redis;
  Source theirs(redis.socket_path());
  const Words words = {"MIGRATE", "127.0.0.1", "1", "a", "0", "1000"};
  theirs.set_up({{"SET", "a", "1"}});
  ours_->set_up({{"SET", "a", "1"}});
  const Reply reply = ours_->call(words);
  EXPECT_EQ(to_debug_string(reply), to_debug_string(theirs.call(words)));
  EXPECT_EQ(reply.error_code(), "IOERR");
  EXPECT_EQ(ours_->call({"GET", "a"}), Reply::bulk("1"));
}

TEST_F(ProgramMigrateTest, UnknownDatabaseOfTargetRestoresNothing) {
  Target target;
  ours_->set_up({{"SET", "a", "1"}});
  EXPECT_EQ(ours_->call(target.migrate({"a", "99", "1000"})),
            Reply::error("ERR Target instance replied with error: ERR DB index is out of range"));
  EXPECT_EQ(ours_->call({"GET", "a"}), Reply::bulk("1"));
  EXPECT_EQ(target.call({"DBSIZE"}), Reply::integer(0));
}

TEST_F(ProgramMigrateTest, DatabaseOfClientIsMoved) {
  Target target;
  ours_->set_up({{"SET", "a", "0"}, {"SELECT", "5"}, {"SET", "a", "5"}});
  EXPECT_EQ(ours_->call(target.migrate({"a", "0", "1000"})), Reply::ok());
  EXPECT_EQ(target.call({"GET", "a"}), Reply::bulk("5"));
  EXPECT_EQ(ours_->call({"EXISTS", "a"}), Reply::integer(0));
  ours_->set_up({{"SELECT", "0"}});
  EXPECT_EQ(ours_->call({"GET", "a"}), Reply::bulk("0"));
}

TEST_F(ProgramMigrateTest, SilentTargetIsIoErrorAfterTimeout) {
  const RedisServer redis;
  Source theirs(redis.socket_path());
  Target target;
  theirs.set_up({{"SET", "a", "1"}});
  ours_->set_up({{"SET", "a", "1"}});
  target.server().pause();
  const Words words = target.migrate({"a", "0", "50"});
  EXPECT_EQ(ours_->call(words), theirs.call(words));
  EXPECT_EQ(ours_->call({"GET", "a"}), Reply::bulk("1"));
  target.server().resume();
}

TEST_F(ProgramMigrateTest, SilentTargetHoldsUpItsClientAlone) {
  Target target;
  ours_->set_up({{"SET", "a", "1"}});
  target.server().pause();
  RawConnection& waiting = ours_->begin(target.migrate({"a", "0", "600000"}), 1);
  EXPECT_EQ(ours_->call({"GET", "a"}), Reply::bulk("1"));
  EXPECT_FALSE(waiting.has_reply());
  target.server().kill();
  // It may not have connected before.
  EXPECT_THAT(waiting.receive(), StartsWith("-IOERR error or timeout "));
  EXPECT_EQ(ours_->call({"GET", "a"}), Reply::bulk("1"));
}

TEST_F(ProgramMigrateTest, KeyThatChangesMeanwhileStays) {
  Target target;
  ours_->set_up({{"SET", "a", "1"}, {"SET", "b", "1"}, {"SET", "c", "1"}, {"SET", "d", "1"}});
  target.server().pause();
  RawConnection& moving =
      ours_->begin(target.migrate({"", "0", "600000", "KEYS", "a", "b", "c", "d"}), 4);
  ours_->set_up({{"SET", "a", "2"}, {"PEXPIRE", "b", "500000"}, {"DEL", "d"}});
  target.server().resume();
  EXPECT_EQ(
      moving.receive(),
      "-ERR 3 of 4 keys changed during the migration. The target has their former values, and "
      "they were not deleted here. The first is 'a'\r\n");
  EXPECT_EQ(ours_->call({"GET", "a"}), Reply::bulk("2"));
  EXPECT_EQ(ours_->call({"EXISTS", "a", "b", "c", "d"}), Reply::integer(2));
  EXPECT_EQ(target.call({"MGET", "a", "b", "c", "d"}),
            Reply::array(std::vector<Reply>(4, Reply::bulk("1"))));
}

TEST_F(ProgramMigrateTest, HashWithExpiringFieldsStays) {
  Target target;
  ours_->set_up({{"HSET", "a", "f", "v"}, {"HPEXPIRE", "a", "500000", "FIELDS", "1", "f"}});
  EXPECT_EQ(ours_->call(target.migrate({"a", "0", "1000"})), ours_->call({"DUMP", "a"}));
  EXPECT_EQ(ours_->call({"EXISTS", "a"}), Reply::integer(1));
}

TEST_F(ProgramMigrateTest, LargeValuesMove) {
  Target target;
  const std::string large(3'000'000, 'x');
  ours_->set_up({{"SET", "a", large}, {"SET", "b", large}});
  EXPECT_EQ(ours_->call(target.migrate({"", "0", "60000", "KEYS", "a", "b"})), Reply::ok());
  EXPECT_EQ(target.call({"GET", "b"}), Reply::bulk(large));
  EXPECT_EQ(ours_->call({"DBSIZE"}), Reply::integer(0));
}

TEST(MigrateCommandTest, EndInterruptsWaitingMigration) {
  Target target;
  const auto engine = *Engine::open(std::make_unique<MemoryStore>());
  (*engine->open_client())("SET", "a", "1");
  auto command = make_migrate_command(*engine);
  target.server().pause();
  const std::vector<Request> requests(2, request_of(target.migrate({"a", "0", "600000"})));
  std::promise<std::vector<Reply>> replied;
  command->begin(0, 0, requests,
                 [&](std::vector<Reply> replies) { replied.set_value(std::move(replies)); });
  command.reset();
  const std::vector<Reply> replies = replied.get_future().get();
  ASSERT_EQ(replies.size(), 2U);
  for (const Reply& reply : replies) EXPECT_EQ(reply.error_code(), "IOERR");
  EXPECT_EQ((*engine->open_client())("GET", "a"), Reply::bulk("1"));
  target.server().resume();
}

}  // namespace
}  // namespace rushgate
