// The server as programs written for Redis use it: through hiredis.
#include <poll.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <hiredis/async.h>
#include <hiredis/hiredis.h>

#include "tests/support/temporary_directory.h"
#include <rushgate/memory_store.h>
#include <rushgate/resp_server.h>

namespace rushgate {
namespace {

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using HiredisReply = std::unique_ptr<redisReply, FreeReply>;

/// Returns the reply as one line: "OK", 1, nil, [a, b], -ERR no.
std::string shown(const redisReply* reply) {
  if (reply == nullptr) return "no reply";
  const std::string text = reply->str == nullptr ? "" : std::string(reply->str, reply->len);
  switch (reply->type) {
    case REDIS_REPLY_INTEGER:
      return std::to_string(reply->integer);
    case REDIS_REPLY_NIL:
      return "nil";
    case REDIS_REPLY_ERROR:
      return "-" + text;
    case REDIS_REPLY_ARRAY: {
      std::string elements;
      for (std::size_t i = 0; i < reply->elements; ++i) {
        elements += (i == 0 ? "" : ", ") + shown(reply->element[i]);
      }
      return "[" + elements + "]";
    }
    default:
      return text;
  }
}

class Hiredis {
 public:
  explicit Hiredis(const std::string& path) : context_(redisConnectUnix(path.c_str())) {}
  ~Hiredis() { redisFree(context_); }
  Hiredis(const Hiredis&) = delete;
  Hiredis& operator=(const Hiredis&) = delete;

  [[nodiscard]] std::string error() const { return context_->errstr; }

  std::string call(const std::vector<std::string_view>& words) {
    append(words);
    return receive();
  }
  void append(const std::vector<std::string_view>& words) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string_view word : words) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
    redisAppendCommandArgv(context_, static_cast<int>(words.size()), texts.data(), sizes.data());
  }
  std::string receive() {
    void* reply = nullptr;
    if (redisGetReply(context_, &reply) != REDIS_OK) return "broken: " + error();
    return shown(HiredisReply(static_cast<redisReply*>(reply)).get());
  }
  /// Sends the appended requests without waiting for replies.
  void flush() {
    int done = 0;
    while (done == 0 && redisBufferWrite(context_, &done) == REDIS_OK) {
    }
  }

 private:
  redisContext* const context_;
};

class HiredisTest : public ::testing::Test {
 protected:
  HiredisTest() {
    engine_ = *Engine::open(std::make_unique<MemoryStore>());
    server_ = *RespServer::start(*engine_, {.bind_address = "", .unix_socket = path()});
  }
  [[nodiscard]] std::string path() const { return (directory_.path() / "socket").string(); }

  const TemporaryDirectory directory_{TemporaryDirectory::Where::kInTmp};
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<RespServer> server_;
};

TEST_F(HiredisTest, CommandsReplyWithEveryKind) {
  Hiredis redis(path());
  ASSERT_EQ(redis.error(), "");
  using namespace std::string_view_literals;
  EXPECT_EQ(redis.call({"SET", "k", "a\r\n\0b"sv}), "OK");
  EXPECT_EQ(redis.call({"GET", "k"}), std::string("a\r\n\0b", 5));
  EXPECT_EQ(redis.call({"GET", "none"}), "nil");
  EXPECT_EQ(redis.call({"INCR", "n"}), "1");
  EXPECT_EQ(redis.call({"INCR", "k"}), "-ERR value is not an integer or out of range");
  EXPECT_EQ(redis.call({"RPUSH", "l", "a", "b", "c"}), "3");
  EXPECT_EQ(redis.call({"LRANGE", "l", "0", "-1"}), "[a, b, c]");
  EXPECT_EQ(redis.call({"ZADD", "z", "1.5", "m", "inf", "n"}), "2");
  EXPECT_EQ(redis.call({"ZRANGE", "z", "0", "-1", "WITHSCORES"}), "[m, 1.5, n, inf]");
  EXPECT_EQ(redis.call({"XADD", "s", "1-1", "f", "v"}), "1-1");
  EXPECT_EQ(redis.call({"XRANGE", "s", "-", "+"}), "[[1-1, [f, v]]]");
}

TEST_F(HiredisTest, PipelineRepliesInOrder) {
  constexpr int kRequests = 1'000;
  Hiredis redis(path());
  for (int i = 0; i < kRequests; ++i) redis.append({"INCRBY", "n", "2"});
  for (int i = 1; i <= kRequests; ++i) ASSERT_EQ(redis.receive(), std::to_string(2 * i));
}

TEST_F(HiredisTest, TransactionsRunOrAreDiscarded) {
  Hiredis redis(path());
  Hiredis other(path());
  for (const auto& words : std::vector<std::vector<std::string_view>>{
           {"WATCH", "k"}, {"MULTI"}, {"SET", "k", "v"}, {"LPUSH", "k", "x"}, {"EXEC"}}) {
    redis.append(words);
  }
  EXPECT_EQ(redis.receive(), "OK");
  EXPECT_EQ(redis.receive(), "OK");
  EXPECT_EQ(redis.receive(), "QUEUED");
  EXPECT_EQ(redis.receive(), "QUEUED");
  EXPECT_EQ(redis.receive(),
            "[OK, -WRONGTYPE Operation against a key holding the wrong kind of value]");

  EXPECT_EQ(redis.call({"WATCH", "k"}), "OK");
  EXPECT_EQ(other.call({"SET", "k", "w"}), "OK");
  EXPECT_EQ(redis.call({"MULTI"}), "OK");
  EXPECT_EQ(redis.call({"SET", "k", "v"}), "QUEUED");
  EXPECT_EQ(redis.call({"EXEC"}), "nil");
  EXPECT_EQ(redis.call({"GET", "k"}), "w");
}

TEST_F(HiredisTest, ScriptsRun) {
  Hiredis redis(path());
  const std::string sha = redis.call({"SCRIPT", "LOAD", "return {KEYS[1], ARGV[1], 3.9, false}"});
  EXPECT_EQ(sha.size(), 40U);
  EXPECT_EQ(redis.call({"EVALSHA", sha, "1", "k", "a"}), "[k, a, 3, nil]");
  EXPECT_EQ(redis.call({"EVALSHA", std::string(40, 'f'), "0"}),
            "-NOSCRIPT No matching script. Please use EVAL.");
}

TEST_F(HiredisTest, AnotherClientServesBlockedRead) {
  Hiredis reader(path());
  Hiredis writer(path());
  const std::string id = reader.call({"CLIENT", "ID"});
  reader.append({"BLPOP", "l", "0"});
  reader.flush();
  while (writer.call({"CLIENT", "LIST", "ID", id}).find(" flags=b") == std::string::npos) {
  }
  EXPECT_EQ(writer.call({"RPUSH", "l", "x"}), "1");
  EXPECT_EQ(reader.receive(), "[l, x]");
  EXPECT_EQ(writer.call({"LLEN", "l"}), "0");
}

// ---- Asynchronous use in a loop of poll() ----

/// An asynchronous connection, whose events the test polls for hiredis.
class AsyncHiredis {
 public:
  explicit AsyncHiredis(const std::string& path) : context_(redisAsyncConnectUnix(path.c_str())) {
    context_->ev.data = this;
    context_->ev.addRead = [](void* self) { of(self).wanted_ |= POLLIN; };
    context_->ev.delRead = [](void* self) { of(self).wanted_ &= ~POLLIN; };
    context_->ev.addWrite = [](void* self) { of(self).wanted_ |= POLLOUT; };
    context_->ev.delWrite = [](void* self) { of(self).wanted_ &= ~POLLOUT; };
    // The first write finds the connection established.
    wanted_ = POLLOUT;
  }
  ~AsyncHiredis() { redisAsyncFree(context_); }
  AsyncHiredis(const AsyncHiredis&) = delete;
  AsyncHiredis& operator=(const AsyncHiredis&) = delete;

  /// Sends a command. Appends its replies to `answers`.
  void send(const std::string& words, std::vector<std::string>& answers) {
    const auto note = [](redisAsyncContext*, void* reply, void* into) {
      if (reply == nullptr) return;  // the connection ends
      static_cast<std::vector<std::string>*>(into)->push_back(
          shown(static_cast<redisReply*>(reply)));
    };
    redisAsyncCommand(context_, note, &answers, words.c_str());
  }

  /// Polls until `answers` has `count` elements.
  void wait_for(const std::vector<std::string>& answers, std::size_t count) {
    constexpr int kPatienceMs = 10'000;
    while (answers.size() < count) {
      pollfd socket{context_->c.fd, static_cast<short>(wanted_), 0};
      ASSERT_GT(::poll(&socket, 1, kPatienceMs), 0) << "no reply in time";
      if ((socket.revents & POLLOUT) != 0) redisAsyncHandleWrite(context_);
      if ((socket.revents & (POLLIN | POLLHUP)) != 0) redisAsyncHandleRead(context_);
    }
  }

 private:
  static AsyncHiredis& of(void* self) { return *static_cast<AsyncHiredis*>(self); }

  redisAsyncContext* const context_;
  int wanted_ = 0;
};

TEST_F(HiredisTest, AsynchronousRepliesComeInOrder) {
  AsyncHiredis redis(path());
  std::vector<std::string> answers;
  for (const char* words : {"SET k v", "GET k", "INCR k", "PING"}) redis.send(words, answers);
  redis.wait_for(answers, 4);
  EXPECT_EQ(answers, (std::vector<std::string>{
                         "OK", "v", "-ERR value is not an integer or out of range", "PONG"}));
}

TEST_F(HiredisTest, AsynchronousSubscriptionGetsMessages) {
  AsyncHiredis subscriber(path());
  Hiredis publisher(path());
  std::vector<std::string> channel;
  std::vector<std::string> pattern;
  subscriber.send("SUBSCRIBE news", channel);
  subscriber.send("PSUBSCRIBE n*", pattern);
  subscriber.wait_for(channel, 1);
  subscriber.wait_for(pattern, 1);
  EXPECT_EQ(publisher.call({"PUBLISH", "news", "a"}), "2");
  EXPECT_EQ(publisher.call({"PUBLISH", "none", "b"}), "1");
  EXPECT_EQ(publisher.call({"PUBLISH", "other", "c"}), "0");
  subscriber.wait_for(channel, 2);
  subscriber.wait_for(pattern, 3);
  EXPECT_EQ(channel, (std::vector<std::string>{"[subscribe, news, 1]", "[message, news, a]"}));
  EXPECT_EQ(pattern, (std::vector<std::string>{"[psubscribe, n*, 2]", "[pmessage, n*, news, a]",
                                               "[pmessage, n*, none, b]"}));
}

}  // namespace
}  // namespace rushgate
