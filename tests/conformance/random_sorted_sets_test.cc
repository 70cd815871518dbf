// Commands on sorted sets picked at random, with scores and bounds of all kinds: the engine's answers
// are a real Redis's, byte for byte.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "engine/client/request.h"
#include "tests/conformance/embedded_backend.h"
#include "tests/conformance/redis_backend.h"
#include "tests/random_seed.h"

namespace rushgate::testing {
namespace {

class RandomSortedSetsTest : public ::testing::TestWithParam<RespVersion> {
 protected:
  RandomSortedSetsTest() : redis_(GetParam()), engine_(GetParam()) {
    redis_.reset();
    engine_.reset();
  }

  void expect_same(const Request& request) {
    send(0, request);
    expect_same_answer(0, shown(request));
  }

  void send(int session, const Request& request) {
    redis_.send(session, request);
    engine_.send(session, request);
  }
  void expect_same_answer(int session, const std::string& after) {
    const std::string expected = redis_.receive(session);
    ASSERT_EQ(engine_.receive(session), expected) << "session " << session << " after " << after;
  }
  static std::string shown(const Request& request) {
    std::string words;
    for (std::size_t i = 0; i < request.size(); ++i) words.append(request[i]).append(" ");
    return words;
  }
  /// Sessions above 0 that were waiting and are served have the same answers.
  void expect_same_served(std::set<int>& waiting, const std::string& after) {
    for (auto session = waiting.begin(); session != waiting.end();) {
      const bool is_served = redis_.has_answer(*session);
      ASSERT_EQ(engine_.has_answer(*session), is_served)
          << "session " << *session << " after " << after;
      if (is_served) expect_same_answer(*session, after);
      session = is_served ? waiting.erase(session) : std::next(session);
    }
  }

  std::string pick(std::initializer_list<std::string_view> choices) {
    return std::string(choices.begin()[random() % choices.size()]);
  }

  /// Any double that is one, in some form.
  std::string any_score() {
    double value = std::bit_cast<double>(random());
    switch (random() % 6) {
      case 0:
        return std::to_string(static_cast<std::int64_t>(random() % 20) - 10);
      case 1:
        value = static_cast<double>(random() % 1'000'000) / 1'000;
        break;
      case 2:
        value = std::ldexp(static_cast<double>(random()), -static_cast<int>(random() % 128));
        break;
      case 3:
        return pick({"inf", "-inf", "+inf", "-0", "0", "1e17", "0x1.8p3", "1e-320", ".5", "3.3"});
      case 4:
        return std::to_string(random());
      default:
        break;
    }
    if (std::isnan(value)) return "1";
    char text[64];
    std::snprintf(text, sizeof(text), random() % 2 == 0 ? "%.17g" : "%.6g", value);
    return text;
  }
  std::string bound() { return pick({"", "", "("}) + any_score(); }
  std::string lex_bound() {
    return random() % 5 == 0 ? pick({"-", "+"}) : pick({"[", "("}) + member();
  }
  std::string key() { return pick({"a", "b", "c"}); }
  std::string member() { return pick({"m", "n", ""}) + std::to_string(random() % members_max); }
  std::string index() { return std::to_string(static_cast<std::int64_t>(random() % 40) - 20); }

  Request change();
  Request look();
  Request look_by_lex();
  Request combine();
  Request wait();
  Request wake();

  const std::uint64_t seed = random_seed();
  std::mt19937_64 random{seed};
  std::uint64_t members_max = 12;

 private:
  RedisBackend redis_;
  EmbeddedBackend engine_;
};

Request RandomSortedSetsTest::change() {
  switch (random() % 16) {
    case 0:
      return Request::of("ZADD", key(), pick({"NX", "XX", "GT", "LT", "CH"}), any_score(), member(),
                         any_score(), member());
    case 1:
      return Request::of("ZADD", key(), pick({"NX", "XX", "GT", "LT", "CH"}), "INCR", any_score(),
                         member());
    case 2:
      return Request::of("ZINCRBY", key(), any_score(), member());
    case 3:
      return Request::of("ZREM", key(), member(), member());
    case 4:
      return Request::of(pick({"ZPOPMIN", "ZPOPMAX"}), key());
    case 5:
      return Request::of(pick({"ZPOPMIN", "ZPOPMAX"}), key(), random() % 3);
    case 6:
      return Request::of("ZMPOP", 2, key(), key(), pick({"MIN", "MAX"}), "COUNT", random() % 4);
    case 7:
      return Request::of("ZREMRANGEBYRANK", key(), index(), index());
    case 8:
      return Request::of("ZREMRANGEBYSCORE", key(), any_score(), any_score());
    case 9:
      return Request::of("BZPOPMIN", key(), "l", "0.001");
    case 10:
      return Request::of("ZADD", "l", 0, member());
    case 11:
      return Request::of("SADD", "s", member());
    default:
      return Request::of("ZADD", key(), any_score(), member(), any_score(), member());
  }
}

Request RandomSortedSetsTest::look() {
  switch (random() % 8) {
    case 0:
      return Request::of("ZMSCORE", key(), member(), member(), member());
    case 1:
      return Request::of(pick({"ZRANK", "ZREVRANK"}), key(), member());
    case 2:
      return Request::of("ZCOUNT", key(), bound(), bound());
    case 3:
      return Request::of(pick({"ZRANGE", "ZREVRANGE"}), key(), index(), index(), "WITHSCORES");
    case 4:
      return Request::of(pick({"ZRANGEBYSCORE", "ZREVRANGEBYSCORE"}), key(), bound(), bound(),
                         "WITHSCORES", "LIMIT", index(), index());
    case 5:
      return Request::of("ZRANGE", key(), bound(), bound(), "BYSCORE", "REV", "WITHSCORES");
    case 6:
      return Request::of("ZRANDMEMBER", key(), 1'000, "WITHSCORES");
    default:
      return Request::of("ZRANGE", key(), 0, -1, "WITHSCORES");
  }
}

Request RandomSortedSetsTest::look_by_lex() {
  switch (random() % 4) {
    case 0:
      return Request::of("ZLEXCOUNT", "l", lex_bound(), lex_bound());
    case 1:
      return Request::of(pick({"ZRANGEBYLEX", "ZREVRANGEBYLEX"}), "l", lex_bound(), lex_bound());
    case 2:
      return Request::of("ZRANGE", "l", lex_bound(), lex_bound(), "BYLEX", "LIMIT", index(),
                         index());
    default:
      return random() % 10 == 0 ? Request::of("ZREMRANGEBYLEX", "l", lex_bound(), lex_bound())
                                : Request::of("ZRANGEBYLEX", "l", "-", "+");
  }
}

Request RandomSortedSetsTest::combine() {
  const std::string other = pick({"a", "b", "c", "s", "l"});
  const std::string aggregate = pick({"SUM", "MIN", "MAX"});
  switch (random() % 6) {
    case 0:
      return Request::of(pick({"ZUNION", "ZINTER"}), 3, key(), other, key(), "WEIGHTS", any_score(),
                         any_score(), any_score(), "AGGREGATE", aggregate, "WITHSCORES");
    case 1:
      return Request::of(pick({"ZUNION", "ZINTER", "ZDIFF"}), 2, key(), other, "WITHSCORES");
    case 2:
      return Request::of("ZINTERCARD", 2, key(), other, "LIMIT", random() % 5);
    case 3:
      return Request::of(pick({"ZUNIONSTORE", "ZINTERSTORE"}), "d", 2, key(), other, "WEIGHTS",
                         any_score(), any_score(), "AGGREGATE", aggregate);
    case 4:
      return Request::of("ZDIFFSTORE", "d", 2, key(), other);
    default:
      return Request::of("ZRANGESTORE", "d", key(), bound(), bound(), "BYSCORE");
  }
}

/// A blocking command without a timeout.
Request RandomSortedSetsTest::wait() {
  if (random() % 3 == 0) {
    return Request::of("BZMPOP", 0, 2, key(), key(), pick({"MIN", "MAX"}), "COUNT",
                       random() % 3 + 1);
  }
  return Request::of(pick({"BZPOPMIN", "BZPOPMAX"}), key(), key(), 0);
}

/// What those wait for, in one command or several in a script; and what they do not.
Request RandomSortedSetsTest::wake() {
  switch (random() % 10) {
    case 0:
      return Request::of("SET", "a", "v");
    case 1:
    case 2:
      return Request::of("DEL", key(), key());
    case 3:
      return Request::of("ZUNIONSTORE", "b", 2, "c", "d");
    case 4:
    case 5:
      return Request::of("EVAL",
                         "for i, key in ipairs(KEYS) do redis.call('DEL', key) "
                         "redis.call('ZADD', key, i, ARGV[i], i, 'x') end",
                         3, key(), key(), key(), member(), member(), member());
    case 6:
      return Request::of("EVAL",
                         "redis.call('DEL', KEYS[1], KEYS[2]) redis.call('ZADD', KEYS[1], 1, 'x') "
                         "redis.call('ZADD', KEYS[2], 1, 'y') redis.call('DEL', KEYS[1])",
                         2, key(), key());
    case 7:
      return Request::of("ZINCRBY", key(), 1, member());
    default:
      return Request::of("ZADD", key(), random() % 5, member(), random() % 5, member());
  }
}

TEST_P(RandomSortedSetsTest, WhoeverWaitsIsServedAlike) {
  SCOPED_TRACE(seed_text(seed));
  constexpr int kSessions = 5;
  std::set<int> waiting;
  for (int step = 0; step < 1'500 && !HasFailure(); ++step) {
    const int session = 1 + static_cast<int>(random() % kSessions);
    if (random() % 2 == 0 && !waiting.contains(session)) {
      const Request request = wait();
      send(session, request);
      waiting.insert(session);
      expect_same_served(waiting, shown(request));
    } else {
      const Request request = wake();
      expect_same(request);
      expect_same_served(waiting, shown(request));
    }
    if (step % 5 == 0) expect_same(Request::of("ZRANGE", pick({"b", "c"}), 0, -1, "WITHSCORES"));
  }
}

TEST_P(RandomSortedSetsTest, EachAnswerIsRediss) {
  SCOPED_TRACE(seed_text(seed));
  for (int step = 0; step < 6'000 && !HasFailure(); ++step) {
    if (step == 3'000) members_max = 200;  // beyond what Redis keeps as listpacks
    expect_same(change());
    if (step % 2 == 0) expect_same(look());
    if (step % 5 == 0) expect_same(look_by_lex());
    if (step % 5 == 0) expect_same(combine());
    if (step % 50 == 0) expect_same(Request::of("ZRANGE", "d", 0, -1, "WITHSCORES"));
    if (step % 2'000 == 1'999) expect_same(Request::of("FLUSHALL"));
  }
}

TEST_P(RandomSortedSetsTest, ScoresOfAllKindsAreShownAlike) {
  SCOPED_TRACE(seed_text(seed));
  for (int step = 0; step < 2'000 && !HasFailure(); ++step) {
    Request request = Request::of("ZADD", "many");
    Request scores = Request::of("ZMSCORE", "many");
    for (int i = 0; i < 10; ++i) {
      request.add(any_score());
      request.add(std::to_string(i));
      scores.add(std::to_string(i));
    }
    expect_same(request);
    expect_same(scores);
    if (step == 1'000) {  // from now on not a listpack
      expect_same(Request::of("ZADD", "many", 1, std::string(65, 'x')));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Protocols, RandomSortedSetsTest,
                         ::testing::Values(RespVersion::k2, RespVersion::k3),
                         [](const auto& version) {
                           return version.param == RespVersion::k2 ? "Resp2" : "Resp3";
                         });

}  // namespace
}  // namespace rushgate::testing
