// Commands of the program beside Redis's own: RespServerOptions::commands.
#include <future>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/redis_server/raw_connection.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/memory_store.h>
#include <rushgate/resp_server.h>
#include <rushgate/test_engine.h>

namespace rushgate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::RawConnection;

/// Two commands: ECHO.UP replies its argument, and ECHO.LATE does so when the test says.
class EchoCommands final : public ProgramCommands {
 public:
  [[nodiscard]] std::vector<ProgramCommand> commands() const override {
    return {{.name = "echo.up", .arity = 2, .syntax = "message", .summary = "Echoes."},
            {.name = "echo.late", .arity = -2, .is_read_only = false}};
  }

  void begin(std::size_t command, int database, std::span<const Request> requests,
             Completion completion) override {
    const std::lock_guard lock(mutex_);
    batches_.push_back(requests.size());
    databases_.push_back(database);
    std::vector<Reply> replies;
    for (const Request& request : requests) replies.push_back(Reply::bulk(request[1]));
    if (command == 0) return completion(std::move(replies));
    late_.emplace_back([requests, completion = std::move(completion)]() mutable {
      std::vector<Reply> late;
      for (const Request& request : requests) late.push_back(Reply::bulk(request[1]));
      completion(std::move(late));
    });
    has_late_.set_value();
  }

  void wait_for_late() { has_late_.get_future().wait(); }
  void reply_late() {
    for (auto& reply : std::exchange(late_, {})) reply();
  }
  [[nodiscard]] std::vector<std::size_t> batches() {
    const std::lock_guard lock(mutex_);
    return batches_;
  }
  [[nodiscard]] std::vector<int> databases() {
    const std::lock_guard lock(mutex_);
    return databases_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::size_t> batches_;
  std::vector<int> databases_;  // of batches_
  std::vector<absl::AnyInvocable<void()>> late_;
  std::promise<void> has_late_;
};

class ProgramCommandsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    engine_ = *Engine::open(std::make_unique<MemoryStore>());
    start({.commands = commands_});
  }

  void start(RespServerOptions options) {
    options.bind_address = "";
    options.unix_socket = path();
    auto server = RespServer::start(*engine_, std::move(options));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  [[nodiscard]] std::string path() const { return (directory_.path() / "socket").string(); }

  std::string exchange(const std::string& bytes, std::size_t reply_bytes) {
    RawConnection client(path());
    client.send_bytes(bytes);
    return client.receive_bytes(reply_bytes);
  }

  const TemporaryDirectory directory_;
  const std::shared_ptr<EchoCommands> commands_ = std::make_shared<EchoCommands>();
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<RespServer> server_;
};

TEST_F(ProgramCommandsTest, PipelineIsOneBatchInOrder) {
  const std::string sent = "PING\r\nECHO.UP a\r\necho.up b\r\nEcho.Up c\r\nPING x\r\nECHO.UP d\r\n";
  const std::string expected = "+PONG\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nx\r\n$1\r\nd\r\n";
  EXPECT_EQ(exchange(sent, expected.size()), expected);
  EXPECT_THAT(commands_->batches(), ElementsAre(3U, 1U));
}

TEST_F(ProgramCommandsTest, BatchHasDatabaseOfClient) {
  const std::string expected = "$1\r\na\r\n+OK\r\n$1\r\nb\r\n+OK\r\n$1\r\nc\r\n";
  EXPECT_EQ(
      exchange("ECHO.UP a\r\nSELECT 3\r\nECHO.UP b\r\nSELECT 0\r\nECHO.UP c\r\n", expected.size()),
      expected);
  EXPECT_THAT(commands_->databases(), ElementsAre(0, 3, 0));
}

TEST_F(ProgramCommandsTest, LateReplyHoldsUpItsClientAlone) {
  RawConnection waiting(path());
  waiting.send_bytes("ECHO.LATE a\r\nPING\r\n");
  commands_->wait_for_late();
  RawConnection other(path());
  EXPECT_EQ(other.call(Request::of("PING")), Reply::status("PONG"));
  EXPECT_EQ(other.call(Request::of("ECHO.UP", "b")), Reply::bulk("b"));
  EXPECT_FALSE(waiting.has_reply());
  commands_->reply_late();
  EXPECT_EQ(waiting.receive_bytes(14), "$1\r\na\r\n+PONG\r\n");
}

TEST_F(ProgramCommandsTest, ClosedClientGetsNoReply) {
  {
    RawConnection leaving(path());
    leaving.send_bytes("ECHO.LATE a\r\n");
    commands_->wait_for_late();
  }
  EXPECT_EQ(RawConnection(path()).call(Request::of("PING")), Reply::status("PONG"));
  commands_->reply_late();
  EXPECT_EQ(RawConnection(path()).call(Request::of("PING")), Reply::status("PONG"));
}

TEST_F(ProgramCommandsTest, StopWaitsForReply) {
  RawConnection waiting(path());
  waiting.send_bytes("ECHO.LATE a\r\n");
  commands_->wait_for_late();
  std::thread stopping([this] { server_->stop(); });
  commands_->reply_late();
  EXPECT_EQ(waiting.receive_all(), "$1\r\na\r\n");
  stopping.join();
}

TEST_F(ProgramCommandsTest, TransactionRefusesThem) {
  const std::string refused = "-ERR Command not allowed inside a transaction\r\n";
  const std::string expected =
      "+OK\r\n" + refused + refused +
      "-EXECABORT Transaction discarded because of previous errors.\r\n$1\r\nc\r\n";
  EXPECT_EQ(exchange("MULTI\r\nECHO.UP a\r\nECHO.UP b\r\nEXEC\r\nECHO.UP c\r\n", expected.size()),
            expected);
  EXPECT_THAT(commands_->batches(), ElementsAre(1U));
}

TEST_F(ProgramCommandsTest, ScriptRefusesThem) {
  RawConnection client(path());
  const Reply reply = client.call(Request::of("EVAL", "return redis.call('ECHO.UP', 'a')", 0));
  EXPECT_THAT(reply.text(), HasSubstr("not allowed from script"));
  EXPECT_TRUE(commands_->batches().empty());
}

TEST_F(ProgramCommandsTest, WrongArityIsRefused) {
  RawConnection client(path());
  EXPECT_THAT(client.call(Request::of("ECHO.UP")).text(),
              HasSubstr("wrong number of arguments for 'echo.up' command"));
  const std::string expected =
      "$1\r\na\r\n-ERR wrong number of arguments for 'echo.up' command\r\n$1\r\nb\r\n";
  EXPECT_EQ(exchange("ECHO.UP a\r\nECHO.UP a b\r\nECHO.UP b\r\n", expected.size()), expected);
}

TEST_F(ProgramCommandsTest, SubscriberOfResp2IsRefused) {
  RawConnection client(path());
  client.send_bytes("SUBSCRIBE news\r\nECHO.UP a\r\n");
  client.receive();
  EXPECT_THAT(client.receive(), HasSubstr("Can't execute 'echo.up'"));
  RawConnection newer(path());
  newer.send_bytes("HELLO 3\r\nSUBSCRIBE news\r\nECHO.UP a\r\n");
  newer.receive();
  newer.receive();
  EXPECT_EQ(newer.receive(), "$1\r\na\r\n");
}

TEST_F(ProgramCommandsTest, SilentClientGetsNoReply) {
  EXPECT_EQ(exchange("CLIENT REPLY OFF\r\nECHO.UP a\r\nCLIENT REPLY ON\r\nECHO.UP b\r\n", 12),
            "+OK\r\n$1\r\nb\r\n");
  EXPECT_EQ(exchange("CLIENT REPLY SKIP\r\nECHO.UP a\r\nECHO.UP b\r\n", 7), "$1\r\nb\r\n");
}

TEST_F(ProgramCommandsTest, CommandAndAclListThem) {
  RawConnection client(path());
  const Reply info = client.call(Request::of("COMMAND", "INFO", "echo.up"));
  ASSERT_EQ(info.elements().size(), 1U);
  ASSERT_GE(info.elements()[0].elements().size(), 2U);
  EXPECT_EQ(info.elements()[0].elements()[0], Reply::bulk("echo.up"));
  EXPECT_EQ(info.elements()[0].elements()[1], Reply::integer(2));
  const Reply docs = client.call(Request::of("COMMAND", "DOCS", "ECHO.UP"));
  ASSERT_EQ(docs.elements().size(), 2U);
  EXPECT_THAT(docs.elements()[1].elements(), Contains(Reply::bulk("Echoes.")));
  EXPECT_THAT(docs.elements()[1].elements(), Contains(Reply::bulk("module")));
  const Reply names = client.call(Request::of("COMMAND", "LIST"));
  EXPECT_THAT(names.elements(), Contains(Reply::bulk("echo.late")));
  const Reply count = client.call(Request::of("COMMAND", "COUNT"));
  EXPECT_EQ(static_cast<std::size_t>(count.integer()),
            client.call(Request::of("COMMAND")).elements().size());
  EXPECT_THAT(client.call(Request::of("ACL", "CAT", "write")).elements(),
              Contains(Reply::bulk("echo.late")));
  EXPECT_EQ(client.call(Request::of("ACL", "DRYRUN", "default", "ECHO.UP", "a")), Reply::ok());
}

TEST_F(ProgramCommandsTest, OtherServerOfEngineHasNone) {
  server_.reset();
  start({});
  RawConnection client(path());
  EXPECT_THAT(client.call(Request::of("ECHO.UP", "a")).text(),
              HasSubstr("unknown command 'ECHO.UP'"));
  EXPECT_TRUE(client.call(Request::of("COMMAND", "DOCS", "echo.up")).elements().empty());
}

TEST_F(ProgramCommandsTest, PasswordIsRequired) {
  server_.reset();
  start({.password = "secret", .commands = commands_});
  const std::string expected = "-NOAUTH Authentication required.\r\n+OK\r\n$1\r\nb\r\n";
  EXPECT_EQ(exchange("ECHO.UP a\r\nAUTH secret\r\nECHO.UP b\r\n", expected.size()), expected);
}

TEST_F(ProgramCommandsTest, EmbeddedClientIsRefused) {
  const auto client = engine_->open_client();
  EXPECT_THAT((*client)("ECHO.UP", "a").text(), HasSubstr("is for clients of the server's port"));
}

class NamedCommand final : public ProgramCommands {
 public:
  explicit NamedCommand(std::string name) : name_(std::move(name)) {}
  [[nodiscard]] std::vector<ProgramCommand> commands() const override { return {{.name = name_}}; }
  void begin(std::size_t /*command*/, int /*database*/, std::span<const Request> /*requests*/,
             Completion /*completion*/) override {}

 private:
  const std::string name_;
};

TEST(ProgramCommandNamesTest, RedisNamesAreRefused) {
  const TemporaryDirectory directory;
  const auto engine = *Engine::open(std::make_unique<MemoryStore>());
  for (const char* const name : {"get", "", "Upper", "with space"}) {
    const auto server =
        RespServer::start(*engine, {.bind_address = "",
                                    .unix_socket = (directory.path() / "socket").string(),
                                    .commands = std::make_shared<NamedCommand>(name)});
    EXPECT_TRUE(absl::IsInvalidArgument(server.status())) << name;
  }
}

}  // namespace
}  // namespace rushgate
