#include "engine/redis/executor/served_session.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/executor/engine_fixture.h"

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

template <class... Args>
std::string reply_while_busy(ServedSession& session, Args... args) {
  const Request request = Request::of(args...);
  ServedSession::Batch batch{.session = &session, .requests = {&request, 1}};
  ServedSession::reply_while_busy(batch);
  return to_debug_string(batch.replies.at(0));
}

/// Sessions with one request each, run together.
class Asking {
 public:
  explicit Asking(Engine& engine) : engine_(engine) {}

  template <class... Args>
  void add(Args... args) {
    sessions_.push_back(std::make_unique<ServedSession>(engine_, ServedSessionOptions{}));
    requests_.push_back(Request::of(args...));
    batches_.push_back({.session = sessions_.back().get(), .requests = {&*requests_.back(), 1}});
  }

  /// Runs the requests. During a script, destroys the requests that already have a reply, as a
  /// server does, and then kills the script.
  void run() {
    ServedSession::run(batches_, ServedSession::kNoBound, [this] {
      replied_before_the_end_ = std::ranges::count_if(batches_, &ServedSession::Batch::is_replied);
      for (std::size_t i = 0; i < batches_.size(); ++i) {
        if (batches_[i].is_replied) requests_[i].reset();
      }
      ServedSession other(engine_, {});
      busy_reply_ = reply_while_busy(other, "GET", "k");
      reply_while_busy(other, "SCRIPT", "KILL");
    });
  }

  /// Returns the replies as to_debug_string() formats them.
  [[nodiscard]] std::vector<std::string> replies() const {
    std::vector<std::string> texts;
    for (const ServedSession::Batch& batch : batches_) {
      texts.push_back(to_debug_string(batch.replies.at(0)));
    }
    return texts;
  }
  [[nodiscard]] std::ptrdiff_t replied_before_the_end() const { return replied_before_the_end_; }
  [[nodiscard]] const std::string& busy_reply() const { return busy_reply_; }

 private:
  Engine& engine_;
  std::vector<std::unique_ptr<ServedSession>> sessions_;
  std::deque<std::optional<Request>> requests_;
  std::vector<ServedSession::Batch> batches_;
  std::ptrdiff_t replied_before_the_end_ = 0;
  std::string busy_reply_;
};

constexpr char kEndless[] = "while true do end";

TEST(ServedSessionTest, BatchesRunInOrder) {
  const auto engine = open_engine();
  Asking asking(*engine);
  for (int i = 0; i < 40; ++i) asking.add("INCR", "counter");
  asking.add("GET", "counter");
  asking.run();
  const auto replies = asking.replies();
  EXPECT_EQ(replies[0], "(integer) 1");
  EXPECT_EQ(replies[39], "(integer) 40");
  EXPECT_EQ(replies[40], R"("40")");
}

TEST(ServedSessionTest, ReplyBoundsLeaveRequestsForLater) {
  const auto engine = open_engine();
  ServedSession session(*engine, {});
  ServedSession other(*engine, {});
  ServedSession third(*engine, {});
  const auto run = [](std::span<ServedSession::Batch> batches, std::size_t reply_bytes_max) {
    ServedSession::run(batches, reply_bytes_max, [] {});
  };
  const std::vector<Request> gets(
      4, Request::of("EVAL", "redis.call('INCR', 'runs') return string.rep('x', 1000)", 0));
  const std::vector<Request> runs = {Request::of("GET", "runs")};
  ServedSession::Batch batches[] = {
      {.session = &session, .requests = gets, .reply_bytes_max = 1'500},
      {.session = &other, .requests = gets},
      {.session = &third, .requests = runs}};
  run(batches, 4'500);
  EXPECT_EQ(batches[0].replies.size(), 2U) << "bound of the batch";
  EXPECT_EQ(batches[1].replies.size(), 3U) << "bound of all batches";
  EXPECT_TRUE(batches[2].replies.empty());
  ServedSession::Batch again{.session = &third, .requests = runs};
  run({&again, 1}, ServedSession::kNoBound);
  EXPECT_EQ(again.replies.at(0), Reply::bulk("5"));
}

TEST(ServedSessionTest, HeldBytesCountNamesAndRequests) {
  const auto engine = open_engine();
  ServedSession session(*engine, {});
  const std::string name(1'000, 'x');
  const auto held_after = [&](const auto&... words) {
    const std::vector<Request> requests = {Request::of(words...)};
    ServedSession::Batch batch{.session = &session, .requests = requests};
    ServedSession::run({&batch, 1}, ServedSession::kNoBound, [] {});
    EXPECT_FALSE(batch.replies.at(0).is_error()) << to_debug_string(batch.replies.at(0));
    return session.held_bytes();
  };
  EXPECT_EQ(held_after("PING"), 0U);
  const std::size_t watched = held_after("WATCH", name, name);
  EXPECT_THAT(watched, ::testing::AllOf(::testing::Gt(2'000U), ::testing::Lt(3'000U)));
  EXPECT_EQ(held_after("WATCH", name), watched);
  held_after("MULTI");
  EXPECT_GT(held_after("GET", name), watched + 1'000);
  EXPECT_EQ(held_after("EXEC"), 0U);
  EXPECT_GT(held_after("CLIENT", "SETNAME", name), 1'000U);
  EXPECT_EQ(held_after("CLIENT", "SETNAME", ""), 0U);
  for (const char* const kind : {"", "P", "S"}) {
    const std::string subscribe = std::string(kind) + "SUBSCRIBE";
    const std::size_t subscribed = held_after(subscribe, name);
    EXPECT_THAT(subscribed, ::testing::AllOf(::testing::Gt(2'000U), ::testing::Lt(3'000U)));
    EXPECT_EQ(held_after(subscribe, name), subscribed);
    EXPECT_EQ(held_after(std::string(kind) + "UNSUBSCRIBE", name), 0U);
  }
}

TEST(ServedSessionTest, ServerIsCalledDuringLongScript) {
  const auto engine = open_engine({.script_busy_after_ms = 1});
  Asking asking(*engine);
  asking.add("SET", "k", "v");
  asking.add("EVAL", kEndless, 0);
  asking.add("GET", "k");
  asking.run();
  EXPECT_THAT(asking.replies(),
              ElementsAre("OK", HasSubstr("Script killed by user"), StartsWith("(error) BUSY")));
  EXPECT_THAT(asking.busy_reply(), StartsWith("(error) BUSY"));
}

// The queue takes two operations at a time, so the first ones finish before the last are queued.
// Keys exceed 32 MiB, so glibc unmaps them at once when they are freed: reading them again would
// crash.
TEST(ServedSessionTest, FinishedRequestsAreNotReadAgain) {
  constexpr std::size_t kLarge = std::size_t{40} << 20;
  const auto engine = open_engine({.queue_capacity = 2, .script_busy_after_ms = 1});
  Asking asking(*engine);
  for (int i = 0; i < 4; ++i) asking.add("EXISTS", std::string(kLarge, 'k'));
  asking.add("EVAL", kEndless, 0);
  for (int i = 0; i < 3; ++i) asking.add("EXISTS", "k");
  asking.run();
  EXPECT_GE(asking.replied_before_the_end(), 2);
  EXPECT_THAT(asking.replies()[4], HasSubstr("Script killed by user"));
  EXPECT_EQ(asking.replies()[7], "(integer) 0");
}

TEST(ServedSessionTest, KilledSessionKillsNoScript) {
  const auto engine = open_engine({.script_busy_after_ms = 1});
  ServedSession killed(*engine, {.address = "1.2.3.4:5"});
  ServedSession killer(*engine, {});
  ServedSession other(*engine, {});
  const Request requests[] = {
      Request::of("CLIENT", "KILL", "1.2.3.4:5"),
      Request::of("EVAL", "while true do redis.call('PING') end", 0),
  };
  ServedSession::Batch batch{.session = &killer, .requests = requests};
  std::string of_killed;
  std::string of_other;
  ServedSession::run({&batch, 1}, ServedSession::kNoBound, [&] {
    of_killed = reply_while_busy(killed, "SCRIPT", "KILL");
    of_other = reply_while_busy(other, "SCRIPT", "KILL");
  });
  EXPECT_THAT(of_killed, HasSubstr("CLOSED"));
  EXPECT_THAT(of_other, HasSubstr("OK"));
  EXPECT_TRUE(killed.is_hung_up());
}

}  // namespace
}  // namespace rushgate
