// The server as its clients see it. tests/conformance compares the replies of commands.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include "adapters/resp/resp_encoder.h"
#include "tests/support/faults/resource_limits.h"
#include "tests/support/redis_server/raw_connection.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/memory_store.h>
#include <rushgate/resp_server.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using testing::connect_while_busy;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RawConnection;
using ::testing::StartsWith;

/// A client of a server on a loopback port.
class TcpClient {
 public:
  explicit TcpClient(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  ~TcpClient() { ::close(fd_); }
  TcpClient(const TcpClient&) = delete;
  TcpClient& operator=(const TcpClient&) = delete;

  void expect_pong() const {
    char reply[8] = {};
    EXPECT_EQ(::send(fd_, "PING\r\n", 6, 0), 6);
    EXPECT_EQ(::recv(fd_, reply, 7, MSG_WAITALL), 7);
    EXPECT_STREQ(reply, "+PONG\r\n");
  }

 private:
  const int fd_;
};

/// Keeps the log.
class LogSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    text_.append(line.data(), line.size());
  }
  void flush_() override {}

  std::string text_;
};

class RespServerTest : public ::testing::Test {
 protected:
  RespServerTest() { engine_ = *Engine::open(std::make_unique<MemoryStore>()); }

  void start(RespServerOptions options = {}) {
    options.bind_address = "";
    options.unix_socket = path();
    auto server = RespServer::start(*engine_, std::move(options));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  [[nodiscard]] std::string path(const char* name = "socket") const {
    return (directory_.path() / name).string();
  }
  [[nodiscard]] std::unique_ptr<RawConnection> connect() const {
    return std::make_unique<RawConnection>(path());
  }
  /// Sends `bytes`, and returns all that the server sends until it closes the connection.
  std::string last_words(std::string_view bytes) const {
    RawConnection client(path());
    client.send_bytes(bytes);
    return client.receive_all();
  }

  static std::ptrdiff_t clients_listed(RawConnection& client) {
    const std::string list = client.call(Request::of("CLIENT", "LIST")).text();
    return std::ranges::count(list, '\n');
  }
  static int blocked_clients(RawConnection& client) {
    const std::string info = client.call(Request::of("INFO", "clients")).text();
    const std::string field = "blocked_clients:";
    return std::stoi(info.substr(info.find(field) + field.size()));
  }

  void open_with_manual_clock() {
    engine_ = *Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock_});
  }

  ManualClock clock_;
  /// Returns the log, which the server's thread may write meanwhile.
  std::string logged() { return sink_->text(); }

  const std::shared_ptr<LogSink> sink_ = std::make_shared<LogSink>();
  const std::shared_ptr<spdlog::logger> log_ = std::make_shared<spdlog::logger>("test", sink_);
  const TemporaryDirectory directory_{TemporaryDirectory::Where::kInTmp};
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<RespServer> server_;
};

// ---- SHUTDOWN ----

TEST_F(RespServerTest, ShutdownNotifiesOwnerAndClosesConnection) {
  std::promise<bool> asked;
  start({.on_shutdown = [&asked](bool saves) { asked.set_value(saves); }});
  EXPECT_EQ(last_words("SET k v\r\nSHUTDOWN NOSAVE NOW\r\nGET k\r\n"), "+OK\r\n");
  EXPECT_FALSE(asked.get_future().get());
  server_->stop();
}

TEST_F(RespServerTest, ShutdownSavesByDefault) {
  std::promise<bool> asked;
  start({.on_shutdown = [&asked](bool saves) { asked.set_value(saves); }});
  EXPECT_EQ(last_words("SHUTDOWN\r\n"), "");
  EXPECT_TRUE(asked.get_future().get());
}

TEST_F(RespServerTest, ShutdownWithoutOwnerIsRefused) {
  start();
  const Reply refusal =
      Reply::error("ERR there is no server to shut down: the engine belongs to its program");
  EXPECT_EQ(connect()->call(Request::of("SHUTDOWN")), refusal);
  EXPECT_EQ(engine_->open_client()->call(Request::of("SHUTDOWN", "NOSAVE")), refusal);
}

// ---- Requests ----

TEST_F(RespServerTest, ArraysAndLinesGetReplies) {
  start();
  const auto client = connect();
  EXPECT_EQ(client->call(Request::of("SET", "k", "v")), Reply::ok());
  client->send_bytes("GET k\r\n");
  EXPECT_EQ(client->receive(), "$1\r\nv\r\n");
}

TEST_F(RespServerTest, PipelineRepliesInOrder) {
  start();
  const auto client = connect();
  constexpr int kRequests = 10'000;
  std::string sent;
  for (int i = 0; i < kRequests; ++i) append_request(Request::of("INCR", "n"), sent);
  client->send_bytes(sent);
  for (int i = 1; i <= kRequests; ++i) {
    ASSERT_EQ(client->receive(), ":" + std::to_string(i) + "\r\n");
  }
}

TEST_F(RespServerTest, RequestsMayArriveByteByByte) {
  start();
  const auto client = connect();
  for (const char c : std::string_view("*2\r\n$4\r\nECHO\r\n$3\r\na\r\n\r\n")) {
    client->send_bytes({&c, 1});
  }
  EXPECT_EQ(client->receive(), "$3\r\na\r\n\r\n");
}

TEST_F(RespServerTest, LargeValuesPassBothWays) {
  start();
  const auto client = connect();
  const std::string value(8'000'000, 'x');
  EXPECT_EQ(client->call(Request::of("SET", "k", value)), Reply::ok());
  EXPECT_EQ(client->call(Request::of("GET", "k")), Reply::bulk(value));
}

TEST_F(RespServerTest, ClientsHaveOwnSessions) {
  start();
  const auto one = connect();
  const auto two = connect();
  one->call(Request::of("SELECT", 1));
  one->call(Request::of("SET", "k", "v"));
  EXPECT_EQ(two->call(Request::of("EXISTS", "k")), Reply::integer(0));
}

TEST_F(RespServerTest, KeyspaceIsSharedWithEmbeddedClients) {
  start();
  const auto embedded = engine_->open_client();
  connect()->call(Request::of("SET", "k", "v"));
  EXPECT_EQ((*embedded)("GET", "k"), Reply::bulk("v"));
}

TEST_F(RespServerTest, InvalidRequestEndsConnectionAfterEarlierReplies) {
  start();
  EXPECT_EQ(last_words("PING\r\n*1\r\nGET\r\nPING\r\n"),
            "+PONG\r\n-ERR Protocol error: expected '$', got 'G'\r\n");
}

TEST_F(RespServerTest, QuitEndsConnection) {
  start();
  EXPECT_EQ(last_words("QUIT\r\nPING\r\n"), "+OK\r\n");
}

TEST_F(RespServerTest, ReplyHasProtocolOfItsRequest) {
  start();
  const std::string words = last_words(
      "HSET h a b\r\nHGETALL h\r\nGET none\r\nHELLO 3\r\nHGETALL h\r\nGET none\r\nRESET\r\n"
      "GET none\r\nQUIT\r\n");
  EXPECT_THAT(words, StartsWith(":1\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n$-1\r\n%7\r\n"));
  EXPECT_THAT(words, EndsWith("%1\r\n$1\r\na\r\n$1\r\nb\r\n_\r\n+RESET\r\n$-1\r\n+OK\r\n"));
  EXPECT_THAT(last_words("HELLO 3\r\nSUBSCRIBE a\r\nRESET\r\nQUIT\r\n"),
              EndsWith(">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n+RESET\r\n+OK\r\n"));
}

TEST_F(RespServerTest, LastProtocolCountsInTransaction) {
  start();
  EXPECT_THAT(last_words("MULTI\r\nGET none\r\nHELLO 3\r\nEXEC\r\nQUIT\r\n"),
              StartsWith("+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n_\r\n%7\r\n"));
}

TEST_F(RespServerTest, HttpClientIsDisconnected) {
  start();
  EXPECT_EQ(last_words("PING\r\nPOST / HTTP/1.1\r\nHost: x\r\n\r\nSET k v\r\n"), "");
  EXPECT_EQ(last_words("host: x\r\nSET k v\r\n"), "");
  EXPECT_EQ(last_words("*1\r\n$4\r\npOsT\r\n"), "");
  const auto client = connect();
  EXPECT_EQ(client->call(Request::of("EXISTS", "k")), Reply::integer(0));
  EXPECT_EQ(clients_listed(*client), 1);
}

// ---- CLIENT ----

TEST_F(RespServerTest, ConfirmationsComeWithoutReplies) {
  start();
  const std::string subscribed = "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n";
  const std::string unsubscribed = "*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n";
  EXPECT_EQ(last_words("CLIENT REPLY OFF\r\nSUBSCRIBE a\r\nUNSUBSCRIBE a\r\nPING\r\n"
                       "CLIENT REPLY ON\r\nQUIT\r\n"),
            subscribed + unsubscribed + "+OK\r\n+OK\r\n");
  EXPECT_EQ(last_words("CLIENT REPLY SKIP\r\nSUBSCRIBE a\r\nPING\r\nQUIT\r\n"),
            subscribed + "*2\r\n$4\r\npong\r\n$0\r\n\r\n+OK\r\n");
}

// Redis leaves the connection open, but reads no more.
TEST_F(RespServerTest, MessagesOfTransactionPrecedeItsReply) {
  start();
  EXPECT_THAT(last_words("HELLO 3\r\nSUBSCRIBE c\r\nMULTI\r\nPUBLISH c m\r\nEXEC\r\nQUIT\r\n"),
              EndsWith(">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n*1\r\n:1\r\n+OK\r\n"));
}

TEST_F(RespServerTest, ChannelsComeInAscendingOrder) {
  start();
  EXPECT_THAT(last_words("SUBSCRIBE b c a\r\nUNSUBSCRIBE\r\nQUIT\r\n"),
              EndsWith("*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:2\r\n"
                       "*3\r\n$11\r\nunsubscribe\r\n$1\r\nb\r\n:1\r\n"
                       "*3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:0\r\n+OK\r\n"));
  const auto subscriber = connect();
  subscriber->send_bytes("SUBSCRIBE b c a\r\n");
  for (int confirmations = 3; confirmations > 0; --confirmations) subscriber->receive();
  EXPECT_EQ(to_debug_string(connect()->call(Request::of("PUBSUB", "CHANNELS"))),
            R"(["a", "b", "c"])");
  EXPECT_THAT(last_words("HELLO 3\r\nPSUBSCRIBE ? *\r\nPUBLISH x m\r\nQUIT\r\n"),
              HasSubstr("$1\r\n*\r\n$1\r\nx\r\n$1\r\nm\r\n>4\r\n$8\r\npmessage\r\n$1\r\n?\r\n"));
}

TEST_F(RespServerTest, SilentConnectionEndsToo) {
  start();
  EXPECT_EQ(last_words("CLIENT REPLY OFF\r\nQUIT\r\n"), "");
  EXPECT_THAT(last_words("CLIENT REPLY OFF\r\n*x\r\n"), StartsWith("-ERR Protocol error"));
  EXPECT_EQ(last_words("CLIENT REPLY SKIP\r\n\r\nPING 1\r\nPING 2\r\nQUIT\r\n"),
            "$1\r\n2\r\n+OK\r\n");
}

TEST_F(RespServerTest, FailedCommitSendsNoUnwantedReply) {
  for (const std::string silence : {"OFF", "SKIP"}) {
    SCOPED_TRACE(silence);
    auto store = std::make_unique<faults::FaultyStore>(std::make_unique<MemoryStore>());
    store->fail_commit(1, faults::FaultyStore::Kept::kNo);
    server_.reset();
    engine_ = *Engine::open(std::move(store));
    start();
    // The second and the third request are one batch, so the third gets the error of the commit.
    const std::string words = last_words("CLIENT REPLY " + silence +
                                         "\r\nSET k v\r\nCLIENT REPLY ON\r\nPING\r\nQUIT\r\n");
    EXPECT_EQ(words,
              "-OUTCOMEUNKNOWN the store failed while writing: injected fault\r\n+PONG\r\n+OK\r\n");
    EXPECT_FALSE(engine_->health().ok());
  }
}

TEST_F(RespServerTest, ScriptDebugWorksInPipeline) {
  start();
  EXPECT_EQ(last_words("PING\r\nSCRIPT DEBUG no\r\nQUIT\r\n"), "+PONG\r\n+OK\r\n+OK\r\n");
}

TEST_F(RespServerTest, ResetMaySkipItsOwnReply) {
  start();
  EXPECT_EQ(last_words("CLIENT REPLY SKIP\r\nRESET\r\nPING\r\nQUIT\r\n"), "+PONG\r\n+OK\r\n");
  EXPECT_EQ(last_words("CLIENT REPLY OFF\r\nRESET\r\nPING\r\nQUIT\r\n"),
            "+RESET\r\n+PONG\r\n+OK\r\n");
}

// Redis truncates the array, which breaks the stream of replies.
TEST_F(RespServerTest, TransactionReplyIsCompleteOrAbsent) {
  start();
  EXPECT_EQ(last_words("MULTI\r\nCLIENT REPLY OFF\r\nPING\r\nEXEC\r\nPING\r\nQUIT\r\n"),
            "+OK\r\n+QUEUED\r\n+QUEUED\r\n");
  EXPECT_EQ(last_words("MULTI\r\nCLIENT KILL TYPE normal SKIPME no\r\nPING\r\nEXEC\r\n"),
            "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n+PONG\r\n");
}

TEST_F(RespServerTest, ClientListRepeatsRepeatedIds) {
  start();
  const auto one = connect();
  const auto two = connect();
  const std::int64_t first = one->call(Request::of("CLIENT", "ID")).integer();
  const std::int64_t second = two->call(Request::of("CLIENT", "ID")).integer();
  const std::string list =
      one->call(Request::of("CLIENT", "LIST", "ID", second, first, 1'000'000, second)).text();
  std::vector<std::string> ids;
  for (std::size_t at = 0; at < list.size(); at = list.find('\n', at) + 1) {
    ids.push_back(list.substr(at, list.find(' ', at) - at));
  }
  const auto shown = [](std::int64_t id) { return "id=" + std::to_string(id); };
  EXPECT_THAT(ids, ElementsAre(shown(second), shown(first), shown(second)));
}

/// Returns a number from a line of CLIENT LIST: "qbuf" of "… qbuf=26 …".
std::size_t field_of(const std::string& line, const std::string& name) {
  const std::string before = " " + name + "=";
  const std::size_t at = line.find(before);
  EXPECT_NE(at, std::string::npos) << name;
  return std::stoull(line.substr(at + before.size()));
}

/// Returns the only line of CLIENT LIST about `client`, requested by `other`.
std::string line_of(RawConnection& client, RawConnection& other) {
  const std::int64_t id = client.call(Request::of("CLIENT", "ID")).integer();
  return other.call(Request::of("CLIENT", "LIST", "ID", id)).text();
}

TEST_F(RespServerTest, ListShowsIncompleteRequest) {
  start();
  const auto client = connect();
  const auto other = connect();
  const std::size_t idle_bytes = field_of(line_of(*client, *other), "tot-mem");
  EXPECT_EQ(field_of(line_of(*client, *other), "qbuf"), 0U);
  const std::string id = std::to_string(client->call(Request::of("CLIENT", "ID")).integer());
  client->send_bytes("PING\r\n*2\r\n$4\r\nECHO\r\n$5000\r\n" + std::string(4'000, 'x'));
  EXPECT_EQ(client->receive(), "+PONG\r\n");
  const std::string line = other->call(Request::of("CLIENT", "LIST", "ID", id)).text();
  EXPECT_GE(field_of(line, "qbuf"), 4'000U);
  EXPECT_GE(field_of(line, "tot-mem"), idle_bytes + 4'000);
}

TEST_F(RespServerTest, ListShowsUnreadOutput) {
  start();
  const auto client = connect();
  const auto other = connect();
  constexpr std::size_t kBytes = 8'000'000;  // more than the socket's buffers take
  other->call(Request::of("SET", "k", std::string(kBytes, 'x')));
  const std::int64_t id = client->call(Request::of("CLIENT", "ID")).integer();
  client->send_bytes("GET k\r\n");
  std::string line;
  do {
    line = other->call(Request::of("CLIENT", "LIST", "ID", id)).text();
  } while (field_of(line, "omem") == 0);
  EXPECT_LE(field_of(line, "omem"), 2 * kBytes);
  EXPECT_GT(field_of(line, "oll"), 0U);
  EXPECT_GE(field_of(line, "tot-mem"), field_of(line, "omem"));
  client->receive();
  do {
    line = other->call(Request::of("CLIENT", "LIST", "ID", id)).text();
  } while (field_of(line, "omem") > 0);
}

TEST_F(RespServerTest, ListShowsMemoryOfTransaction) {
  start();
  const auto client = connect();
  const auto other = connect();
  const std::int64_t id = client->call(Request::of("CLIENT", "ID")).integer();
  client->call(Request::of("MULTI"));
  client->call(Request::of("SET", "k", std::string(1'000, 'x')));
  const std::string line = other->call(Request::of("CLIENT", "LIST", "ID", id)).text();
  EXPECT_GE(field_of(line, "multi-mem"), 1'000U);
}

TEST_F(RespServerTest, LongArgumentEndsConnection) {
  start();
  const auto client = connect();
  EXPECT_EQ(client->call(Request::of("CONFIG", "SET", "proto-max-bulk-len", "1mb")), Reply::ok());
  EXPECT_EQ(client->call(Request::of("SET", "k", std::string(1'048'576, 'x'))), Reply::ok());
  client->send_bytes("*2\r\n$4\r\nECHO\r\n$1048577\r\n");
  EXPECT_EQ(client->receive_all(), "-ERR Protocol error: invalid bulk length\r\n");
}

TEST_F(RespServerTest, ListShowsTransactionThatWouldFail) {
  start();
  const auto watcher = connect();
  const auto other = connect();
  watcher->call(Request::of("WATCH", "k"));
  const auto flags = [&] {
    const std::int64_t id = watcher->call(Request::of("CLIENT", "ID")).integer();
    const std::string line = other->call(Request::of("CLIENT", "LIST", "ID", id)).text();
    const std::size_t begin = line.find(" flags=") + 1;
    return line.substr(begin, line.find(' ', begin) - begin);
  };
  EXPECT_EQ(flags(), "flags=U");
  other->call(Request::of("SET", "k", "v"));
  EXPECT_EQ(flags(), "flags=dU");
  watcher->call(Request::of("UNWATCH"));
  EXPECT_EQ(flags(), "flags=U");
}

TEST_F(RespServerTest, TransactionThatWillFailQueuesNothing) {
  start();
  const auto watcher = connect();
  const auto other = connect();
  const std::int64_t id = watcher->call(Request::of("CLIENT", "ID")).integer();
  const auto count = [&] {
    return field_of(other->call(Request::of("CLIENT", "LIST", "ID", id)).text(), "multi");
  };
  watcher->call(Request::of("WATCH", "k"));
  watcher->call(Request::of("MULTI"));
  watcher->call(Request::of("PING"));
  EXPECT_EQ(count(), 1U);
  other->call(Request::of("SET", "k", "v"));
  EXPECT_EQ(watcher->call(Request::of("PING")), Reply::status("QUEUED"));
  EXPECT_EQ(count(), 1U);
  EXPECT_TRUE(watcher->call(Request::of("EXEC")).is_nil());
  watcher->call(Request::of("MULTI"));
  watcher->call(Request::of("NOSUCH"));
  watcher->call(Request::of("PING"));
  EXPECT_EQ(count(), 0U);
}

// ---- Blocking ----

constexpr std::string_view kBlockedRead = "XREAD BLOCK 0 STREAMS s $\r\n";

TEST_F(RespServerTest, BlockedClientBlocksNoOther) {
  start();
  const auto blocked = connect();
  blocked->send_bytes("PING\r\n" + std::string(kBlockedRead) + "ECHO after\r\n");
  EXPECT_EQ(blocked->receive(), "+PONG\r\n");
  const auto other = connect();
  // An entry added before the read blocks is not new to it.
  while (!blocked->has_reply()) other->call(Request::of("XADD", "s", "*", "f", "v"));
  EXPECT_TRUE(blocked->receive().starts_with("*1\r\n*2\r\n$1\r\ns\r\n"));
  EXPECT_EQ(blocked->receive(), "$5\r\nafter\r\n");
}

TEST_F(RespServerTest, RequestAfterBlockedOneRunsOnce) {
  start();
  const auto blocked = connect();
  const auto other = connect();
  blocked->send_bytes("INCR n\r\nBLPOP l 0\r\nINCR n\r\n");
  EXPECT_EQ(blocked->receive(), ":1\r\n");
  other->call(Request::of("RPUSH", "l", "a"));
  EXPECT_EQ(blocked->receive(), "*2\r\n$1\r\nl\r\n$1\r\na\r\n");
  EXPECT_EQ(blocked->receive(), ":2\r\n");
  blocked->send_bytes("INCR m\r\n");
  EXPECT_EQ(blocked->receive(), ":1\r\n") << "earlier requests must not run again";
}

TEST_F(RespServerTest, RequestSentWhileBlockedRunsLater) {
  start();
  const auto blocked = connect();
  const auto other = connect();
  blocked->send_bytes("PING\r\nBLPOP l 0\r\n");
  EXPECT_EQ(blocked->receive(), "+PONG\r\n");
  blocked->send_bytes("INCR n\r\n");
  other->call(Request::of("PING"));  // now the server has read the request
  other->call(Request::of("RPUSH", "l", "a"));
  EXPECT_EQ(blocked->receive(), "*2\r\n$1\r\nl\r\n$1\r\na\r\n");
  EXPECT_EQ(blocked->receive(), ":1\r\n");
  blocked->send_bytes("INCR m\r\n");
  EXPECT_EQ(blocked->receive(), ":1\r\n");
}

// Redis runs all requests of one client before those of the next. Here a batch of another client
// may come between.
TEST_F(RespServerTest, WokenClientsContinueInOrder) {
  start();
  const auto first = connect();
  const auto second = connect();
  const auto other = connect();
  // CLIENT ends a batch.
  first->send_bytes("PING\r\nBLPOP l 0\r\nRPUSH log a1\r\nCLIENT ID\r\nRPUSH log a2\r\n");
  EXPECT_EQ(first->receive(), "+PONG\r\n");
  second->send_bytes("PING\r\nBLPOP l 0\r\nRPUSH log b1\r\nCLIENT ID\r\nRPUSH log b2\r\n");
  EXPECT_EQ(second->receive(), "+PONG\r\n");
  while (other->call(Request::of("INFO", "clients")).text().find("blocked_clients:2") ==
         std::string::npos) {
  }
  other->call(Request::of("RPUSH", "l", "for the first", "for the second"));
  for (const auto& woken : {&first, &second}) {
    for (int answers = 4; answers > 0; --answers) (*woken)->receive();
  }
  const Reply log = other->call(Request::of("LRANGE", "log", 0, -1));
  std::vector<std::string> of_first;
  std::vector<std::string> of_second;
  for (const Reply& entry : log.elements()) {
    (entry.text().starts_with('a') ? of_first : of_second).push_back(entry.text());
  }
  EXPECT_THAT(of_first, ElementsAre("a1", "a2"));
  EXPECT_THAT(of_second, ElementsAre("b1", "b2"));
}

TEST_F(RespServerTest, BlockLikeArgumentBlocksNoOtherClient) {
  start();
  const auto blocked = connect();
  blocked->send(Request::of("XREAD", std::string_view("block\0x", 7), 0, "STREAMS", "s", "$"));
  const auto other = connect();
  EXPECT_EQ(other->call(Request::of("PING")), Reply::status("PONG"));
  while (!blocked->has_reply()) other->call(Request::of("XADD", "s", "*", "f", "v"));
}

TEST_F(RespServerTest, DisconnectedBlockedClientTakesNothing) {
  start();
  const auto other = connect();
  other->call(Request::of("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM"));
  {
    const auto blocked = connect();
    blocked->send_bytes("PING\r\nXREADGROUP GROUP g gone BLOCK 0 STREAMS s >\r\n");
    EXPECT_EQ(blocked->receive(), "+PONG\r\n");
  }
  other->call(Request::of("PING"));  // now the server has noticed
  other->call(Request::of("XADD", "s", "1-1", "f", "v"));
  const Reply read =
      other->call(Request::of("XREADGROUP", "GROUP", "g", "here", "STREAMS", "s", ">"));
  EXPECT_EQ(read.elements().size(), 1U);
}

TEST_F(RespServerTest, StoppedServerClosesBlockedClients) {
  start();
  const auto blocked = connect();
  blocked->send_bytes(kBlockedRead);
  server_->stop();
  EXPECT_EQ(blocked->receive_all(), "");
}

// ---- Scripts that exceed their time ----

TEST_F(RespServerTest, LongScriptRepliesBusyUntilKilled) {
  engine_ = *Engine::open(std::make_unique<MemoryStore>(), {.script_busy_after_ms = 5});
  start();
  const auto endless = connect();
  const auto other = connect();
  endless->send(Request::of("EVAL", "while true do end", 0));
  connect_while_busy(path());
  const auto third = connect();  // another client may come and go meanwhile
  EXPECT_EQ(third->call(Request::of("GET", "k")).error_code(), "BUSY");
  EXPECT_EQ(third->call(Request::of("QUIT")), Reply::ok());
  EXPECT_FALSE(endless->has_reply());
  EXPECT_EQ(other->call(Request::of("SCRIPT", "KILL")), Reply::ok());
  EXPECT_THAT(endless->receive(), ::testing::HasSubstr("Script killed by user"));
  EXPECT_EQ(other->call(Request::of("PING")), Reply::status("PONG"));
}

TEST_F(RespServerTest, BusyPipelineGetsAllReplies) {
  start();
  const auto slow = connect();
  slow->call(Request::of("CONFIG", "SET", "busy-reply-threshold", "1"));
  slow->send_bytes("EVAL \"while true do end\" 0\r\n");
  connect_while_busy(path());
  EXPECT_THAT(last_words("PING\r\nHELLO 2\r\nSCRIPT KILL\r\nQUIT\r\n"),
              ::testing::AllOf(StartsWith("-BUSY"), EndsWith("+OK\r\n+OK\r\n")));
  EXPECT_THAT(slow->receive(), ::testing::HasSubstr("Script killed by user"));
}

TEST_F(RespServerTest, MessagesKeepPlaceAfterBusyReply) {
  engine_ = *Engine::open(std::make_unique<MemoryStore>(), {.script_busy_after_ms = 5});
  start();
  const auto endless = connect();
  const auto other = connect();
  other->call(Request::of("HELLO", 3));
  other->call(Request::of("SUBSCRIBE", "news"));
  const auto answers = [&] {
    other->send_bytes("PING\r\nPUBLISH news x\r\nPING\r\n");
    std::vector<std::string> received(4);
    for (std::string& answer : received) answer = other->receive();
    return received;
  };
  const std::vector<std::string> before = answers();
  endless->send(Request::of("EVAL", "while true do end", 0));
  connect_while_busy(path());
  EXPECT_EQ(other->call(Request::of("PING")).error_code(), "BUSY");
  EXPECT_EQ(other->call(Request::of("SCRIPT", "KILL")), Reply::ok());
  endless->receive();
  EXPECT_EQ(answers(), before);
}

TEST_F(RespServerTest, ShutdownKillsLongScript) {
  engine_ = *Engine::open(std::make_unique<MemoryStore>(), {.script_busy_after_ms = 5});
  std::promise<bool> asked;
  start({.on_shutdown = [&asked](bool saves) { asked.set_value(saves); }});
  const auto endless = connect();
  const auto other = connect();
  endless->send(Request::of("EVAL", "while true do end", 0));
  connect_while_busy(path());
  other->send(Request::of("SHUTDOWN", "NOSAVE"));
  EXPECT_EQ(other->receive_all(), "");
  EXPECT_FALSE(asked.get_future().get());
  EXPECT_THAT(endless->receive(), ::testing::HasSubstr("Script killed by user"));
}

TEST_F(RespServerTest, ShutdownWithFailedSyncStopsWrites) {
  auto store = std::make_unique<faults::FaultyStore>(std::make_unique<MemoryStore>());
  store->fail_sync(1, faults::FaultyStore::Kept::kNo);
  engine_ = *Engine::open(std::move(store));
  start({.on_shutdown = [](bool) { ADD_FAILURE() << "on_shutdown was called after a refusal"; }});
  const auto client = connect();
  EXPECT_THAT(client->call(Request::of("SHUTDOWN")).text(),
              ::testing::HasSubstr("Errors trying to SHUTDOWN"));
  EXPECT_FALSE(engine_->health().ok());
  EXPECT_EQ(client->call(Request::of("SET", "k", "v")).error_code(), "MISCONF");
}

// ---- Passwords ----

TEST_F(RespServerTest, PasswordIsRequired) {
  start({.password = "secret"});
  const auto client = connect();
  const Reply asks = Reply::error("NOAUTH Authentication required.");
  EXPECT_EQ(client->call(Request::of("GET", "k")), asks);
  EXPECT_EQ(client->call(Request::of("AUTH", "guess")),
            Reply::error("WRONGPASS invalid username-password pair or user is disabled."));
  EXPECT_EQ(client->call(Request::of("AUTH", "nobody", "secret")).error_code(), "WRONGPASS");
  EXPECT_EQ(client->call(Request::of("HELLO", 3)).error_code(), "NOAUTH");
  EXPECT_EQ(client->call(Request::of("AUTH", "secret")), Reply::ok());
  EXPECT_EQ(client->call(Request::of("GET", "k")), Reply::nil());
  EXPECT_EQ(client->call(Request::of("RESET")), Reply::status("RESET"));
  EXPECT_EQ(client->call(Request::of("GET", "k")), asks);
  EXPECT_EQ(client->call(Request::of("HELLO", 2, "AUTH", "default", "secret", "SETNAME", "me"))
                .is_error(),
            false);
  EXPECT_EQ(client->call(Request::of("GET", "k")), Reply::nil());
}

TEST_F(RespServerTest, MissingPasswordLimitsRequests) {
  start({.password = "secret"});
  EXPECT_EQ(last_words("*11\r\n"), "-ERR Protocol error: unauthenticated multibulk length\r\n");
  EXPECT_EQ(last_words("*2\r\n$16385\r\n"), "-ERR Protocol error: unauthenticated bulk length\r\n");
}

TEST_F(RespServerTest, ReaderBeforeAuthGetsEachReply) {
  start({.password = "secret"});
  const auto client = connect();
  // So few replies fit into the socket's buffer, also if the server writes each of them alone.
  constexpr int kPortion = 50;
  for (int portion = 0; portion < 20; ++portion) {
    for (int i = 0; i < kPortion; ++i) client->send_bytes("PING\r\nGET k\r\n");
    for (int i = 0; i < 2 * kPortion; ++i) EXPECT_THAT(client->receive(), StartsWith("-NOAUTH"));
  }
  client->send_bytes("AUTH secret\r\n");
  EXPECT_EQ(client->receive(), "+OK\r\n");
}

TEST_F(RespServerTest, ResetLeavesUnreadReplies) {
  start({.password = "secret"});
  const auto other = connect();
  other->call(Request::of("AUTH", "secret"));
  const std::string large(30'000, 'x');
  // With one of these counts, up to 64 KiB exceed the socket's buffer when RESET arrives.
  for (int count = 1; count < 30; ++count) {
    const auto client = connect();
    std::string sent = "AUTH secret\r\n";
    for (int i = 0; i < count; ++i) append_request(Request::of("ECHO", large), sent);
    sent += "RESET\r\nGET k\r\n";
    client->send_bytes(sent);
    for (int i = 0; i < 10; ++i) other->call(Request::of("PING"));
    EXPECT_EQ(client->receive(), "+OK\r\n");
    for (int i = 0; i < count; ++i) EXPECT_GT(client->receive().size(), large.size());
    EXPECT_EQ(client->receive(), "+RESET\r\n");
    EXPECT_THAT(client->receive(), StartsWith("-NOAUTH"));
  }
}

TEST_F(RespServerTest, PasswordLiftsLimitWithinPipeline) {
  start({.password = "secret"});
  const auto client = connect();
  const std::string large(20'000, 'x');
  std::string sent;
  append_request(Request::of("AUTH", "secret"), sent);
  append_request(Request::of("ECHO", large), sent);
  client->send_bytes(sent);
  EXPECT_EQ(client->receive(), "+OK\r\n");
  EXPECT_EQ(client->receive(), "$20000\r\n" + large + "\r\n");
}

// ---- Bounds ----

TEST_F(RespServerTest, ClientsBeyondLimitAreRefused) {
  start({.clients_max = 2});
  const auto one = connect();
  auto two = connect();
  EXPECT_EQ(one->call(Request::of("PING")), Reply::status("PONG"));
  EXPECT_EQ(two->call(Request::of("PING")), Reply::status("PONG"));
  EXPECT_EQ(connect()->receive_all(), "-ERR max number of clients reached\r\n");
  two->call(Request::of("QUIT"));
  two->receive_all();
  EXPECT_EQ(connect()->call(Request::of("PING")), Reply::status("PONG"));
}

TEST_F(RespServerTest, TooLargeRequestClosesConnection) {
  start({.query_bytes_max = 1'000'000, .logger = log_});
  const auto other = connect();
  EXPECT_EQ(last_words("*2\r\n$4\r\nECHO\r\n$2000000\r\n" + std::string(1'500'000, 'x')), "");
  EXPECT_EQ(last_words("*1000\r\n$600000\r\n" + std::string(600'000, 'x') + "\r\n$600000\r\n" +
                       std::string(600'000, 'x')),
            "");
  std::string empty_arguments = "*1000000\r\n";
  for (int i = 0; i < 60'000; ++i) empty_arguments += "$0\r\n\r\n";
  EXPECT_EQ(last_words(empty_arguments), "");
  EXPECT_EQ(other->call(Request::of("PING")), Reply::status("PONG"));
  EXPECT_THAT(logged(), HasSubstr("a client is closed: "));
}

TEST_F(RespServerTest, TransactionQueueCountsAsQuery) {
  start({.query_bytes_max = 1'000'000, .logger = log_});
  const auto queued = [&](RawConnection& client, int requests) {
    std::string sent;
    for (int i = 0; i < requests; ++i) append_request(Request::of("PING"), sent);
    client.send_bytes(sent);
  };
  const auto modest = connect();
  for (int round = 0; round < 3; ++round) {
    modest->call(Request::of("MULTI"));
    queued(*modest, 5'000);
    for (int i = 0; i < 5'000; ++i) ASSERT_EQ(modest->receive(), "+QUEUED\r\n");
    EXPECT_EQ(modest->call(Request::of("DISCARD")), Reply::ok());
  }
  const auto greedy = connect();
  greedy->call(Request::of("MULTI"));
  queued(*greedy, 12'000);
  EXPECT_THAT(greedy->receive_all(), Not(HasSubstr("PONG")));
  EXPECT_THAT(logged(), HasSubstr("its stored requests and names exceed query_bytes_max"));
  EXPECT_EQ(modest->call(Request::of("PING")), Reply::status("PONG"));
}

TEST_F(RespServerTest, NamesOfClientsCountAsQuery) {
  start({.query_bytes_max = 1'000'000, .logger = log_});
  const auto name = [](int i) { return std::string(10'000, 'x') + std::to_string(i); };
  const auto modest = connect();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(modest->call(Request::of("WATCH", name(i))), Reply::ok());
    EXPECT_EQ(modest->call(Request::of("CLIENT", "SETNAME", name(i))), Reply::ok());
    modest->call(Request::of("SUBSCRIBE", name(i)));
    EXPECT_EQ(modest->call(Request::of("RESET")), Reply::status("RESET"));
  }
  for (const char* const command : {"WATCH", "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE"}) {
    const auto greedy = connect();
    std::string sent;
    for (int i = 0; i < 200; ++i) append_request(Request::of(command, name(i)), sent);
    append_request(Request::of("PING"), sent);
    greedy->send_bytes(sent);
    EXPECT_THAT(greedy->receive_all(), Not(HasSubstr("PONG"))) << command;
  }
  const auto named = connect();
  named->send(Request::of("CLIENT", "SETNAME", std::string(990'000, 'x')));
  EXPECT_EQ(named->receive(), "+OK\r\n");
  named->send(Request::of("WATCH", name(0)));
  EXPECT_EQ(named->receive_all(), "+OK\r\n");
  EXPECT_THAT(logged(), HasSubstr("its stored requests and names exceed query_bytes_max"));
  EXPECT_EQ(modest->call(Request::of("PING")), Reply::status("PONG"));
}

TEST_F(RespServerTest, LargestClientsAreClosedAtBound) {
  start({.clients_bytes_max = 5'000'000, .logger = log_});
  const auto other = connect();
  const auto holding = [&](std::size_t bytes) {
    auto client = connect();
    client->call(Request::of("CLIENT", "SETNAME", "n"));
    client->send_bytes("*2\r\n$4\r\nECHO\r\n$100000000\r\n" + std::string(bytes, 'x'));
    return client;
  };
  auto guarded = connect();
  guarded->call(Request::of("CLIENT", "NO-EVICT", "ON"));
  guarded->send_bytes("*2\r\n$4\r\nECHO\r\n$3000000\r\n" + std::string(2'900'000, 'x'));
  std::vector<std::unique_ptr<RawConnection>> small;
  for (int i = 0; i < 10; ++i) small.push_back(holding(100'000));
  EXPECT_EQ(clients_listed(*other), 12);
  EXPECT_EQ(holding(2'000'000)->receive_all(), "");
  EXPECT_EQ(clients_listed(*other), 12);
  EXPECT_THAT(logged(), HasSubstr("all clients together hold more than clients_bytes_max"));
  guarded->send_bytes(std::string(100'000, 'x') + "\r\n");
  EXPECT_EQ(guarded->receive().size(), std::string("$3000000\r\n\r\n").size() + 3'000'000);
}

TEST_F(RespServerTest, BlockedClientsMeetBoundOfAll) {
  start({.clients_bytes_max = 5'000'000, .logger = log_});
  const auto other = connect();
  constexpr int kClients = 12;
  std::vector<std::unique_ptr<RawConnection>> blocked;
  for (int i = 0; i < kClients; ++i) {
    blocked.push_back(connect());
    // The last client is exempt.
    blocked.back()->call(Request::of("CLIENT", "NO-EVICT", i + 1 < kClients ? "OFF" : "ON"));
    blocked.back()->send_bytes("XREAD BLOCK 0 STREAMS s $\r\n");
    while (blocked_clients(*other) <= i) {
    }
  }
  other->call(Request::of("XADD", "s", "*", "f", std::string(1'000'000, 'x')));
  EXPECT_GT(blocked.back()->receive().size(), 1'000'000U);
  EXPECT_EQ(blocked[6]->receive_all(), "");
  EXPECT_THAT(logged(), HasSubstr("clients_bytes_max, and it was to be sent more"));
  blocked.clear();
  // The replies of closed clients no longer count.
  const auto again = connect();
  EXPECT_FALSE(again->call(Request::of("XREAD", "BLOCK", 0, "STREAMS", "s", 0)).is_nil());
}

TEST_F(RespServerTest, MessagesOfOneTurnMeetBoundOfAll) {
  start({.clients_bytes_max = 5'000'000, .logger = log_});
  const auto other = connect();
  std::vector<std::unique_ptr<RawConnection>> subscribers;
  for (int i = 0; i < 12; ++i) {
    subscribers.push_back(connect());
    subscribers.back()->send_bytes("SUBSCRIBE c" + std::to_string(i) + "\r\n");
    subscribers.back()->receive();
  }
  other->call(Request::of("EVAL", "for i = 0, 11 do redis.call('PUBLISH', 'c' .. i, ARGV[1]) end",
                          0, std::string(1'000'000, 'x')));
  EXPECT_GT(subscribers.front()->receive().size(), 1'000'000U);
  EXPECT_EQ(subscribers.back()->receive_all(), "");
  EXPECT_THAT(logged(), HasSubstr("clients_bytes_max, and it was to be sent more"));
  // Messages that were read no longer count.
  EXPECT_EQ(other->call(Request::of("PUBLISH", "c0", "m")), Reply::integer(1));
  EXPECT_THAT(subscribers.front()->receive(), EndsWith("\r\nm\r\n"));
}

TEST_F(RespServerTest, ScriptMeetsBoundOfSubscriber) {
  start({.subscriber_bytes_max = 1'000'000, .logger = log_});
  const auto other = connect();
  const auto subscriber = connect();
  subscriber->send_bytes("SUBSCRIBE c\r\n");
  subscriber->receive();
  EXPECT_EQ(
      other->call(Request::of("EVAL",
                              "local n = 0\n"
                              "for i = 1, 100 do n = n + redis.call('PUBLISH', 'c', ARGV[1]) end\n"
                              "return n",
                              0, std::string(100'000, 'x'))),
      Reply::integer(100));
  EXPECT_LT(subscriber->receive_all().size(), 1'000'000U);
  EXPECT_THAT(logged(), HasSubstr("it left more than subscriber_bytes_max of its messages"));
}

TEST_F(RespServerTest, RolledBackMessagesDoNotCount) {
  engine_ = *Engine::open(std::make_unique<MemoryStore>(), {.roll_back_failed_scripts = true});
  start({.subscriber_bytes_max = 1'000'000});
  const auto other = connect();
  const auto subscriber = connect();
  subscriber->send_bytes("SUBSCRIBE c\r\n");
  subscriber->receive();
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(other
                    ->call(Request::of("EVAL", "redis.call('PUBLISH', 'c', ARGV[1]) error('x')", 0,
                                       std::string(400'000, 'x')))
                    .is_error());
  }
  EXPECT_EQ(other->call(Request::of("PUBLISH", "c", "m")), Reply::integer(1));
  EXPECT_THAT(subscriber->receive(), EndsWith("\r\nm\r\n"));
}

TEST_F(RespServerTest, SoftBoundHoldsAfterItsTime) {
  open_with_manual_clock();
  start({.subscriber_soft_bytes_max = 1'000'000, .subscriber_soft_s = 10, .logger = log_});
  const auto other = connect();
  const auto subscriber = connect();
  subscriber->send_bytes("SUBSCRIBE c\r\n");
  subscriber->receive();
  const std::string message(400'000, 'x');
  constexpr int kMessages = 6;
  const auto publish = [&] {
    for (int i = 0; i < kMessages; ++i) other->call(Request::of("PUBLISH", "c", message));
    other->call(Request::of("PING"));
  };
  publish();
  other->call(Request::of("RUSHGATE.ADVANCE", 9'999));
  EXPECT_EQ(clients_listed(*other), 2);
  for (int i = 0; i < kMessages; ++i) EXPECT_GT(subscriber->receive().size(), message.size());
  other->call(Request::of("RUSHGATE.ADVANCE", 1));
  publish();  // restarts the time limit
  other->call(Request::of("RUSHGATE.ADVANCE", 9'999));
  EXPECT_EQ(clients_listed(*other), 2);
  other->call(Request::of("RUSHGATE.ADVANCE", 1));
  EXPECT_EQ(clients_listed(*other), 1);
  EXPECT_THAT(logged(), HasSubstr("subscriber_soft_bytes_max"));
}

TEST_F(RespServerTest, SubscriberWithUnreadMessagesIsClosed) {
  start({.subscriber_bytes_max = 1'000'000, .logger = log_});
  const auto other = connect();
  const auto lazy = connect();
  lazy->send_bytes("SUBSCRIBE c\r\n");
  EXPECT_EQ(lazy->receive(), "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n");
  const std::string message(400'000, 'x');
  while (other->call(Request::of("PUBLISH", "c", message)) == Reply::integer(1)) {
  }
  EXPECT_THAT(logged(), HasSubstr("a client is closed: it left more than "
                                  "subscriber_bytes_max of its messages unread"));
}

TEST_F(RespServerTest, ClientWithUnreadRepliesIsClosed) {
  start({.output_bytes_max = 1'000'000, .logger = log_});
  const auto other = connect();
  other->call(Request::of("SET", "k", std::string(2'000'000, 'x')));
  const auto lazy = connect();
  lazy->send(Request::of("GET", "k"));
  while (clients_listed(*other) > 1) {
  }
  EXPECT_LT(lazy->receive_all().size(), 2'000'000U);
  EXPECT_EQ(other->call(Request::of("PING")), Reply::status("PONG"));
  EXPECT_THAT(logged(), HasSubstr("a client is closed: it left more than output_bytes_max of "
                                  "its replies unread"));
}

TEST_F(RespServerTest, RepeatedValueMeetsBoundOfReply) {
  start({.output_bytes_max = 1'000'000});
  const auto client = connect();
  const std::string value(400'000, 'x');
  client->call(Request::of("SET", "k", value));
  client->call(Request::of("HSET", "h", "f", value));
  const Reply refusal =
      Reply::error("ERR the reply takes more memory than the client may leave unread");
  EXPECT_EQ(client->call(Request::of("MGET", "k", "k")).elements().size(), 2U);
  EXPECT_EQ(client->call(Request::of("MGET", "k", "k", "k")), refusal);
  EXPECT_EQ(client->call(Request::of("HMGET", "h", "f", "f", "f")), refusal);
  client->call(Request::of("SADD", "s", value));
  client->call(Request::of("ZADD", "z", 1, value));
  EXPECT_EQ(client->call(Request::of("HRANDFIELD", "h", -2, "WITHVALUES")).elements().size(), 4U);
  EXPECT_EQ(client->call(Request::of("HRANDFIELD", "h", -3, "WITHVALUES")), refusal);
  EXPECT_EQ(client->call(Request::of("SRANDMEMBER", "s", -2)).elements().size(), 2U);
  EXPECT_EQ(client->call(Request::of("SRANDMEMBER", "s", -3)), refusal);
  EXPECT_EQ(client->call(Request::of("ZRANDMEMBER", "z", -2)).elements().size(), 2U);
  EXPECT_EQ(client->call(Request::of("ZRANDMEMBER", "z", -3)), refusal);
  client->call(Request::of("MULTI"));
  for (int i = 0; i < 3; ++i) client->call(Request::of("GET", "k"));
  client->call(Request::of("INCR", "n"));
  const Reply replies = client->call(Request::of("EXEC"));
  EXPECT_EQ(replies.elements()[1], Reply::bulk(value));
  EXPECT_EQ(replies.elements()[2], refusal);
  EXPECT_EQ(replies.elements()[3], Reply::integer(1));
  EXPECT_EQ(client->call(Request::of("GET", "n")), Reply::bulk("1"));
}

TEST_F(RespServerTest, RepeatedEntryMeetsBoundOfReply) {
  start({.output_bytes_max = 1'000'000});
  const auto client = connect();
  const Reply refusal =
      Reply::error("ERR the reply takes more memory than the client may leave unread");
  const auto call = [&](const auto&... words) { return client->call(Request::of(words...)); };
  const std::string value(400'000, 'x');
  for (const char* const id : {"1-0", "2-0", "3-0"}) call("XADD", "s", id, "f", value);
  call("XGROUP", "CREATE", "s", "g", "0");

  EXPECT_EQ(call("XREAD", "STREAMS", "s", "s", "2", "2").elements().size(), 2U);
  EXPECT_EQ(call("XREAD", "STREAMS", "s", "s", "s", "2", "2", "2"), refusal);
  EXPECT_EQ(call("XREAD", "STREAMS", "s", "0"), refusal);
  EXPECT_EQ(call("XRANGE", "s", "-", "+", "COUNT", 2).elements().size(), 2U);
  EXPECT_EQ(call("XRANGE", "s", "-", "+"), refusal);
  EXPECT_EQ(call("XREVRANGE", "s", "+", "-"), refusal);
  EXPECT_EQ(call("XINFO", "STREAM", "s", "FULL"), refusal);

  EXPECT_EQ(call("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">"), refusal);
  EXPECT_EQ(call("XINFO", "CONSUMERS", "s", "g").elements().size(), 0U)
      << "the consumer was rolled back";
  const Reply first = call("XREADGROUP", "GROUP", "g", "c", "COUNT", 2, "STREAMS", "s", ">");
  EXPECT_EQ(first.elements().at(0).elements().at(1).elements().size(), 2U);
  EXPECT_EQ(call("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", "s", "0", "0"), refusal);
  EXPECT_EQ(call("XCLAIM", "s", "g", "d", 0, "1-0", "1-0").elements().size(), 2U);
  EXPECT_EQ(call("XCLAIM", "s", "g", "e", 0, "1-0", "1-0", "1-0"), refusal);
  call("XREADGROUP", "GROUP", "g", "c", "COUNT", 1, "STREAMS", "s", ">");
  EXPECT_EQ(call("XAUTOCLAIM", "s", "g", "e", 0, "-"), refusal);
  EXPECT_EQ(call("XPENDING", "s", "g").elements().at(3).elements().size(), 2U)
      << "only c and d remain";
}

TEST_F(RespServerTest, RepeatedNameMeetsBoundOfReply) {
  start({.output_bytes_max = 1'000'000});
  const auto client = connect();
  const Reply refusal =
      Reply::error("ERR the reply takes more memory than the client may leave unread");
  const auto call = [&](std::string_view command, std::string_view subcommand, int times,
                        std::string_view option, std::string_view name) {
    Request request = Request::of(command, subcommand);
    if (!option.empty()) request.add(option);
    for (int i = 0; i < times; ++i) request.add(name);
    return client->call(request);
  };
  EXPECT_EQ(call("COMMAND", "INFO", 10, "", "get").elements().size(), 10U);
  EXPECT_EQ(call("COMMAND", "INFO", 10'000, "", "get"), refusal);
  EXPECT_EQ(call("COMMAND", "DOCS", 10, "", "get").elements().size(), 20U);
  EXPECT_EQ(call("COMMAND", "DOCS", 10'000, "", "get"), refusal);
  const std::string id = std::to_string(client->call(Request::of("CLIENT", "ID")).integer());
  EXPECT_FALSE(call("CLIENT", "LIST", 10, "ID", id).is_error());
  EXPECT_EQ(call("CLIENT", "LIST", 10'000, "ID", id), refusal);
  EXPECT_EQ(client->call(Request::of("CONFIG", "SET", "latency-tracking", "yes")), Reply::ok());
  call("COMMAND", "INFO", 1, "", "get");
  EXPECT_EQ(call("LATENCY", "HISTOGRAM", 1, "", "command").elements().size(), 2U);
  EXPECT_EQ(call("LATENCY", "HISTOGRAM", 10'000, "", "command"), refusal);
}

TEST_F(RespServerTest, UnreadRepliesStopTheirClient) {
  start({.output_bytes_max = 1'000'000});
  const auto other = connect();
  const std::string value(500'000, 'x');
  other->call(Request::of("SET", "k", value));
  const auto lazy = connect();
  constexpr int kGets = 20;
  std::string sent;
  for (int i = 0; i < kGets; ++i) {
    append_request(Request::of("GET", "k"), sent);
    append_request(Request::of("INCR", "gets"), sent);
  }
  lazy->send_bytes(sent);
  // Other clients' requests run meanwhile. The first of these hundred rounds starts the GETs.
  for (int round = 0; round < 100; ++round) other->call(Request::of("PING"));
  const Reply gets = other->call(Request::of("GET", "gets"));
  EXPECT_TRUE(gets.is_nil() || std::stoi(gets.text()) < 5) << to_debug_string(gets);
  for (int i = 1; i <= kGets; ++i) {
    EXPECT_EQ(lazy->receive().size(), value.size() + std::string("$500000\r\n\r\n").size());
    EXPECT_EQ(lazy->receive(), ":" + std::to_string(i) + "\r\n");
  }
}

TEST_F(RespServerTest, PipelineMaySendAllBeforeReading) {
  start();
  const auto client = connect();
  // More than the sockets buffer in both directions, and more than may wait unread.
  const std::string value(1'000, 'x');
  const std::vector<Request> requests(3'000, Request::of("ECHO", value));
  const std::vector<std::string> replies = client->exchange(requests);
  ASSERT_EQ(replies.size(), requests.size());
  for (const std::string& reply : replies) ASSERT_EQ(reply, "$1000\r\n" + value + "\r\n");
}

// ---- Idle clients ----

TEST_F(RespServerTest, IdleClientIsClosed) {
  open_with_manual_clock();
  start({.idle_timeout_s = 10});
  const auto busy = connect();
  const auto idle = connect();
  const auto subscriber = connect();
  const auto blocked = connect();
  EXPECT_EQ(idle->call(Request::of("PING")), Reply::status("PONG"));
  subscriber->send(Request::of("SUBSCRIBE", "c"));
  EXPECT_THAT(subscriber->receive(), StartsWith("*3\r\n$9\r\nsubscribe\r\n"));
  blocked->send(Request::of("BLPOP", "k", 0));
  while (busy->call(Request::of("INFO", "clients")).text().find("blocked_clients:1") ==
         std::string::npos) {
  }
  busy->call(Request::of("RUSHGATE.ADVANCE", 9'999));
  EXPECT_EQ(clients_listed(*busy), 4);
  busy->call(Request::of("RUSHGATE.ADVANCE", 1));
  EXPECT_EQ(idle->receive_all(), "");
  EXPECT_EQ(busy->call(Request::of("PUBLISH", "c", "m")), Reply::integer(1));
  EXPECT_THAT(subscriber->receive(), HasSubstr("message"));
  EXPECT_EQ(busy->call(Request::of("RPUSH", "k", "v")), Reply::integer(1));
  EXPECT_EQ(blocked->receive(), "*2\r\n$1\r\nk\r\n$1\r\nv\r\n");
}

TEST_F(RespServerTest, IdleClientStaysWithoutTimeout) {
  open_with_manual_clock();
  start();
  const auto busy = connect();
  const auto idle = connect();
  EXPECT_EQ(idle->call(Request::of("PING")), Reply::status("PONG"));
  busy->call(Request::of("RUSHGATE.ADVANCE", 1'000'000'000));
  EXPECT_EQ(idle->call(Request::of("PING")), Reply::status("PONG"));
}

/// Returns an option of the sockets that this process has accepted at the port.
std::vector<int> socket_options(std::uint16_t port, int level, int option) {
  std::vector<int> values;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename().string());
    sockaddr_in address{};
    socklen_t size = sizeof(address);
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) continue;
    if (address.sin_family != AF_INET || ntohs(address.sin_port) != port) continue;
    size = sizeof(address);
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) continue;
    int value = 0;
    size = sizeof(value);
    ::getsockopt(fd, level, option, &value, &size);
    values.push_back(value);
  }
  return values;
}

TEST_F(RespServerTest, TcpClientIsKeptAlive) {
  const auto options_with = [&](std::int64_t keepalive_s) {
    const auto server = *RespServer::start(*engine_, {.port = 0, .tcp_keepalive_s = keepalive_s});
    const TcpClient client(server->port());
    client.expect_pong();
    std::vector<std::vector<int>> options;
    options.push_back(socket_options(server->port(), SOL_SOCKET, SO_KEEPALIVE));
    options.push_back(socket_options(server->port(), IPPROTO_TCP, TCP_KEEPIDLE));
    options.push_back(socket_options(server->port(), IPPROTO_TCP, TCP_KEEPINTVL));
    return options;
  };
  EXPECT_EQ(RespServerOptions().tcp_keepalive_s, 300);
  EXPECT_THAT(options_with(300), ElementsAre(ElementsAre(1), ElementsAre(300), ElementsAre(100)));
  EXPECT_THAT(options_with(1), ElementsAre(ElementsAre(1), ElementsAre(1), ElementsAre(1)));
  EXPECT_THAT(options_with(0)[0], ElementsAre(0));
}

// ---- Manual mode ----

TEST_F(RespServerTest, ClockMovesIntoCountableRange) {
  open_with_manual_clock();
  start();
  const auto client = connect();
  const auto advance = [&](auto... arguments) {
    return client->call(Request::of("RUSHGATE.ADVANCE", arguments...)).text();
  };
  EXPECT_EQ(advance(1'000), "OK");
  EXPECT_EQ(clock_.now_ms(), ManualClock::kStartMs + 1'000);
  EXPECT_EQ(advance("x"), "ERR value is not an integer or out of range");
  const std::string out_of_range =
      "ERR value is out of range, value must between 0 and 4611684318427386904";
  EXPECT_EQ(advance(-1), out_of_range);
  EXPECT_EQ(advance("9223372036854775807"), out_of_range);
  EXPECT_EQ(advance(), "ERR wrong number of arguments for 'rushgate.advance' command");
  client->call(Request::of("SET", "k", "v", "EX", 100));
  EXPECT_EQ(advance("4611684318427386904"), "OK");
  EXPECT_EQ(clock_.now_ms(), Engine::kLastMs);
  EXPECT_EQ(client->call(Request::of("EXISTS", "k")), Reply::integer(0));
  EXPECT_EQ(advance(1), "ERR value is out of range, value must between 0 and 0");
}

TEST_F(RespServerTest, ClockIsNotMovedInsideTransaction) {
  open_with_manual_clock();
  start();
  EXPECT_EQ(last_words("MULTI\r\nRUSHGATE.ADVANCE 5\r\nTIME\r\nEXEC\r\nQUIT\r\n"),
            "+OK\r\n-ERR RUSHGATE.ADVANCE inside MULTI is not allowed\r\n+QUEUED\r\n"
            "*1\r\n*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n+OK\r\n");
  EXPECT_EQ(clock_.now_ms(), ManualClock::kStartMs);
}

// ---- Listening ----

absl::Status start_at(Engine& engine, RespServerOptions options) {
  return RespServer::start(engine, std::move(options)).status();
}

TEST_F(RespServerTest, FreeLoopbackPortIsUsed) {
  const auto one = RespServer::start(*engine_, {.port = 0});
  const auto two = RespServer::start(*engine_, {.port = 0});
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_NE((*one)->port(), 0);
  EXPECT_NE((*one)->port(), (*two)->port());
}

TEST_F(RespServerTest, ConfigReportsPortAndClients) {
  const auto server = *RespServer::start(*engine_, {.port = 0, .clients_max = 12});
  const auto client = engine_->open_client();
  EXPECT_EQ((*client)("CONFIG", "GET", "port").elements()[1],
            Reply::bulk(std::to_string(server->port())));
  EXPECT_EQ((*client)("CONFIG", "GET", "maxclients").elements()[1], Reply::bulk("12"));
}

TEST_F(RespServerTest, ConfigReportsBoundsOfClients) {
  start({.query_bytes_max = 1'000'001,
         .output_bytes_max = 1'000'002,
         .subscriber_bytes_max = 1'000'003,
         .subscriber_soft_bytes_max = 1'000'004,
         .subscriber_soft_s = 5,
         .clients_bytes_max = 1'000'006});
  const auto client = engine_->open_client();
  const auto value_of = [&](std::string_view name) {
    return (*client)("CONFIG", "GET", name).elements().at(1).text();
  };
  EXPECT_EQ(value_of("client-query-buffer-limit"), "1000001");
  EXPECT_EQ(value_of("client-output-buffer-limit"),
            "normal 1000002 0 0 slave 0 0 0 pubsub 1000003 1000004 5");
  EXPECT_EQ(value_of("maxmemory-clients"), "1000006");
}

TEST_F(RespServerTest, UnixSocketHasItsPermissions) {
  using std::filesystem::perms;
  const auto permissions = [&](std::uint32_t mode) {
    start({.unix_socket_mode = mode});
    return std::filesystem::status(path()).permissions();
  };
  EXPECT_EQ(permissions(0700), perms::owner_all);
  server_.reset();
  EXPECT_EQ(permissions(0777), perms::all);
}

TEST_F(RespServerTest, LimitOfOpenFilesIsRaised) {
  const OpenFilesLimit limit(150);
  start({.clients_max = 300});
  EXPECT_EQ(OpenFilesLimit::now(), 300U + 192U);
  std::vector<std::unique_ptr<RawConnection>> clients;
  for (int i = 0; i < 120; ++i) clients.push_back(connect());  // 240 files of this process
  for (const auto& client : clients) {
    EXPECT_EQ(client->call(Request::of("PING")), Reply::status("PONG"));
  }
}

TEST_F(RespServerTest, ServersShareLimitOfOpenFiles) {
  const OpenFilesLimit limit(150);
  start({.clients_max = 300});
  {
    const auto second = RespServer::start(*engine_, {.port = 0, .clients_max = 100});
    ASSERT_TRUE(second.ok());
    EXPECT_EQ(OpenFilesLimit::now(), 300U + 192U + 100U + 192U);
  }
  ASSERT_TRUE(RespServer::start(*engine_, {.port = 0, .clients_max = 101}).ok());
  EXPECT_EQ(OpenFilesLimit::now(), 300U + 192U + 101U + 192U);
}

TEST_F(RespServerTest, StartErrorNamesReason) {
  EXPECT_EQ(start_at(*engine_, {.bind_address = "0.0.0.0", .port = 0}),
            absl::InvalidArgumentError("bind_address 0.0.0.0 can be reached from other machines: "
                                       "that takes a password"));
  EXPECT_EQ(start_at(*engine_, {.bind_address = "here"}),
            absl::InvalidArgumentError("bind_address 'here' is no IP address"));
  EXPECT_EQ(start_at(*engine_, {.bind_address = ""}),
            absl::InvalidArgumentError("neither an address nor a unix socket to listen on"));
  const auto first = RespServer::start(*engine_, {.port = 0});
  ASSERT_TRUE(first.ok());
  const absl::Status second = start_at(*engine_, {.port = (*first)->port()});
  EXPECT_EQ(second.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(second.message(),
            "127.0.0.1 port " + std::to_string((*first)->port()) + ": Address already in use");
}

TEST_F(RespServerTest, PasswordAllowsAnyAddress) {
  EXPECT_EQ(start_at(*engine_, {.bind_address = "0.0.0.0", .port = 0, .password = "secret"}),
            absl::OkStatus());
}

TEST_F(RespServerTest, StaleSocketIsReplacedButFileIsNot) {
  start();
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(path()));
  {
    const auto abandoned =
        *RespServer::start(*engine_, {.bind_address = "", .unix_socket = path("other")});
    std::filesystem::rename(path("other"), path());  // as a killed server leaves it
  }
  ASSERT_TRUE(std::filesystem::exists(path()));
  start();
  EXPECT_EQ(connect()->call(Request::of("PING")), Reply::status("PONG"));

  std::ofstream(path("file")) << "mine";
  EXPECT_EQ(start_at(*engine_, {.bind_address = "", .unix_socket = path("file")}).code(),
            absl::StatusCode::kUnavailable);
  EXPECT_TRUE(std::filesystem::exists(path("file")));
}

TEST_F(RespServerTest, RepeatedStopIsHarmless) {
  start();
  const auto client = connect();
  client->call(Request::of("PING"));
  server_->stop();
  server_->stop();
  EXPECT_EQ(client->receive_all(), "");
}

TEST_F(RespServerTest, StopKillsScriptsAndRollsThemBack) {
  start();
  const auto client = connect();
  client->send(Request::of("EVAL", "redis.call('SET', 'k', 'v') while true do end", 0));
  while (!engine_->is_running_script()) std::this_thread::yield();
  server_->stop(EndOfScripts::kKill);
  EXPECT_THAT(client->receive_all(), StartsWith("-ERR Script killed by user"));

  const auto other = engine_->open_client();
  EXPECT_EQ((*other)("EXISTS", "k"), Reply::integer(0));
  EXPECT_EQ((*other)("EVAL", "for i = 1, 1e5 do end return 1", 0), Reply::integer(1))
      << "scripts are killed only while the server stops";
}

TEST_F(RespServerTest, ClosedEngineRepliesClosed) {
  start();
  engine_->close();
  EXPECT_EQ(connect()->call(Request::of("PING")).error_code(), "CLOSED");
}

TEST_F(RespServerTest, SocketOfAnotherServerIsKept) {
  start();
  EXPECT_EQ(start_at(*engine_, {.bind_address = "", .unix_socket = path()}),
            absl::UnavailableError(path() + ": another server is there"));
  EXPECT_EQ(connect()->call(Request::of("PING")), Reply::status("PONG"));
  {
    const auto other =
        *RespServer::start(*engine_, {.bind_address = "", .unix_socket = path("other")});
    std::filesystem::rename(path(), path("other"));
  }
  EXPECT_TRUE(std::filesystem::exists(path("other")));  // the socket of another server now
}

TEST_F(RespServerTest, UnusableOptionsAreRefused) {
  for (const auto& options :
       {RespServerOptions{.port = 0, .clients_max = 0},
        RespServerOptions{.port = 0, .query_bytes_max = 0},
        RespServerOptions{.port = 0, .output_bytes_max = 0},
        RespServerOptions{.port = 0, .unix_socket_mode = 01000},
        RespServerOptions{.port = 0, .idle_timeout_s = -1},
        RespServerOptions{.port = 0, .tcp_keepalive_s = 32'768},
        RespServerOptions{.bind_address = "", .unix_socket = std::string("a\0b", 3)}}) {
    EXPECT_EQ(start_at(*engine_, options).code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace rushgate
