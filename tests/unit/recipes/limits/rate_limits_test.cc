// Limits over time: token bucket, sliding windows, and concurrency.
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random.h"
#include "tests/unit/recipes/recipe_fixture.h"
#include <rushgate/limits.h>
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

template <class Limiter>
Permission take_permission(Limiter& limiter, std::string_view name = "n") {
  const auto permission = limiter.take(name);
  EXPECT_TRUE(permission.ok()) << permission.status();
  return permission.value_or(Permission{});
}

class TokenBucketTest : public RecipeTest {
 protected:
  std::unique_ptr<TokenBucket> bucket(std::int64_t capacity, std::int64_t refill_ms) {
    return *TokenBucket::create(*backend_, {.capacity = capacity, .refill_ms = refill_ms});
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, TokenBucketTest, all_recipe_kinds(), recipe_name);

TEST_P(TokenBucketTest, BurstIsFollowedByRate) {
  const auto limiter = bucket(3, 300);
  for (int left = 2; left >= 0; --left) {
    const Permission permission = take_permission(*limiter);
    EXPECT_TRUE(permission.granted);
    EXPECT_EQ(permission.remaining, left);
  }
  const Permission refused = take_permission(*limiter);
  EXPECT_FALSE(refused.granted);
  EXPECT_EQ(refused.retry_after_ms, 100);
  advance_ms(99);
  EXPECT_EQ(take_permission(*limiter).retry_after_ms, 1);
  advance_ms(1);
  EXPECT_TRUE(take_permission(*limiter).granted);
  EXPECT_FALSE(take_permission(*limiter).granted);
}

TEST_P(TokenBucketTest, TokensAreTakenTogetherOrNot) {
  const auto limiter = bucket(10, 1'000);
  EXPECT_TRUE(limiter->take("n", 7)->granted);
  const auto refused = limiter->take("n", 4);
  EXPECT_FALSE(refused->granted);
  EXPECT_EQ(refused->remaining, 3);
  EXPECT_EQ(refused->retry_after_ms, 100);
  EXPECT_TRUE(limiter->take("n", 3)->granted);
  EXPECT_EQ(limiter->take("n", 11).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(limiter->take("n", 0).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_P(TokenBucketTest, BucketsOfBatchAreTakenInOrder) {
  const auto limiter = bucket(2, 1'000);
  const std::vector<std::string_view> names = {"a", "b", "a", "a", "b"};
  std::vector<bool> granted;
  for (const auto& permission : limiter->take_all(names)) granted.push_back(permission->granted);
  EXPECT_THAT(granted, ::testing::ElementsAre(true, true, true, false, true));
  EXPECT_TRUE(limiter->take_all({}).empty());
  (*client_)("SET", "token-bucket:b", "x");
  const auto permissions = limiter->take_all(names);
  EXPECT_TRUE(permissions[0].ok());
  EXPECT_FALSE(permissions[1].ok());
}

TEST_P(TokenBucketTest, NamesHaveSeparateBuckets) {
  const auto limiter = bucket(1, 1'000);
  EXPECT_TRUE(take_permission(*limiter, "a").granted);
  EXPECT_TRUE(take_permission(*limiter, "b").granted);
  EXPECT_FALSE(take_permission(*limiter, "a").granted);
}

TEST_P(TokenBucketTest, FullBucketIsNoKey) {
  const auto limiter = bucket(2, 100);
  EXPECT_TRUE(take_permission(*limiter).granted);
  EXPECT_EQ((*client_)("EXISTS", "token-bucket:n"), Reply::integer(1));
  advance_ms(60);
  EXPECT_EQ((*client_)("EXISTS", "token-bucket:n"), Reply::integer(0));
}

TEST_P(TokenBucketTest, ClockBackRefusesForOneRefillAtMost) {
  const auto limiter = bucket(2, 1'000);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(take_permission(*limiter).granted);
  set_now_ms(clock_.now_ms() - 3'600'000);
  EXPECT_FALSE(take_permission(*limiter).granted);
  advance_ms(500);
  EXPECT_TRUE(take_permission(*limiter).granted);
}

TEST_P(TokenBucketTest, RateHoldsBelowOneMicrosecondPerToken) {
  const auto limiter = bucket(TokenBucket::kCapacityMax, 1'000);
  EXPECT_TRUE(limiter->take("n", TokenBucket::kCapacityMax)->granted);
  advance_ms(1);
  const auto most = limiter->take("n", TokenBucket::kCapacityMax / 1'000);
  EXPECT_TRUE(most->granted);
  EXPECT_FALSE(limiter->take("n", 1)->granted);
}

TEST_P(TokenBucketTest, ForeignValueIsError) {
  (*client_)("SET", "token-bucket:n", "x");
  const auto permission = bucket(1, 1'000)->take("n");
  EXPECT_THAT(std::string(permission.status().message()),
              ::testing::HasSubstr("not a token bucket"));
  EXPECT_EQ((*client_)("GET", "token-bucket:n").text(), "x");
}

TEST(TokenBucketOptionsTest, OutOfRangeIsNamed) {
  const auto backend = *Engine::open(std::make_unique<MemoryStore>());
  EXPECT_THAT(std::string(TokenBucket::create(*backend, {.capacity = 0}).status().message()),
              ::testing::HasSubstr("capacity is 0"));
  EXPECT_THAT(std::string(TokenBucket::create(*backend, {.refill_ms = 0}).status().message()),
              ::testing::HasSubstr("refill_ms is 0"));
}

/// An embedded engine, which runs native scripts, and a redis-server, which runs Lua.
class NativeScriptTest : public ::testing::Test {
 protected:
  ManualClock clock_;
  testing::RedisServer server_{{.manual_clock = true}};
  const std::unique_ptr<Engine> embedded_ =
      *Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock_});
  const std::unique_ptr<RedisBackend> redis_ =
      *RedisBackend::open(*RedisOptions::from_url(server_.url()));
  const std::unique_ptr<Client> our_client_ = embedded_->open_client();
  const std::unique_ptr<Client> their_client_ = redis_->open_client();
};

using TokenBucketNativeTest = NativeScriptTest;
TEST_F(TokenBucketNativeTest, BothScriptsDecideAlike) {
  const TokenBucketOptions options = {.capacity = 7, .refill_ms = 1'100};
  const auto ours = *TokenBucket::create(*embedded_, options);
  const auto theirs = *TokenBucket::create(*redis_, options);
  const auto seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  testing::Random random(seed);
  for (int i = 0; i < 2'000; ++i) {
    const std::int64_t what = random.between(0, 9);
    const std::int64_t step_ms = random.between(0, 400);
    if (what == 0) clock_.set_now_ms(clock_.now_ms() - step_ms);
    if (what > 4) embedded_->advance_ms(step_ms);
    server_.set_now_ms(clock_.now_ms());
    const std::int64_t tokens = random.between(1, 4);
    const auto our = ours->take("n", tokens);
    const auto their = theirs->take("n", tokens);
    ASSERT_TRUE(our.ok() && their.ok()) << our.status() << their.status();
    ASSERT_EQ(our->granted, their->granted) << "step " << i;
    ASSERT_EQ(our->remaining, their->remaining) << "step " << i;
    ASSERT_EQ(our->retry_after_ms, their->retry_after_ms) << "step " << i;
    ASSERT_EQ((*our_client_)("GET", "token-bucket:n"), (*their_client_)("GET", "token-bucket:n"));
  }
}

class SlidingWindowTest : public RecipeTest {
 protected:
  using Kind = SlidingWindowOptions::Kind;
  std::unique_ptr<SlidingWindow> window(Kind kind, std::int64_t maximum, std::int64_t window_ms) {
    return *SlidingWindow::create(*backend_,
                                  {.kind = kind, .maximum = maximum, .window_ms = window_ms});
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, SlidingWindowTest, all_recipe_kinds(), recipe_name);

TEST_P(SlidingWindowTest, ExactGrantExpiresWithWindow) {
  const auto limiter = window(Kind::kExact, 2, 1'000);
  EXPECT_EQ(take_permission(*limiter).remaining, 1);
  advance_ms(600);
  EXPECT_EQ(take_permission(*limiter).remaining, 0);
  EXPECT_EQ(take_permission(*limiter).retry_after_ms, 400);
  advance_ms(399);
  EXPECT_FALSE(take_permission(*limiter).granted);
  advance_ms(1);
  EXPECT_TRUE(take_permission(*limiter).granted);
  EXPECT_EQ(take_permission(*limiter).retry_after_ms, 600);
}

/// The classic way counts per second, and grants twice as many around a second's end.
TEST_P(SlidingWindowTest, NoBurstAroundFixedWindowEnd) {
  constexpr std::int64_t kMaximum = 5;
  Client& client = *client_;
  set_now_ms(clock_.now_ms() / 1'000 * 1'000 + 900);
  const auto fixed = [&] {
    const std::string key = "fixed:" + std::to_string(clock_.now_ms() / 1'000);
    return client("INCR", key).integer() <= kMaximum;
  };
  const auto exact = window(Kind::kExact, kMaximum, 1'000);
  const auto approximate = window(Kind::kApproximate, kMaximum, 1'000);
  int fixed_grants = 0;
  int exact_grants = 0;
  int approximate_grants = 0;
  for (int i = 0; i < 20; ++i) {
    if (i == 10) advance_ms(200);
    if (fixed()) ++fixed_grants;
    if (take_permission(*exact).granted) ++exact_grants;
    if (take_permission(*approximate, "other").granted) ++approximate_grants;
  }
  EXPECT_EQ(fixed_grants, 2 * kMaximum) << "the wrong way, within 200 ms";
  EXPECT_EQ(exact_grants, kMaximum);
  EXPECT_EQ(approximate_grants, kMaximum);
}

TEST_P(SlidingWindowTest, ExactNeverGrantsMoreInAnyWindow) {
  constexpr std::int64_t kWindowMs = 500;
  constexpr std::size_t kMaximum = 4;
  const auto limiter = window(Kind::kExact, kMaximum, kWindowMs);
  const auto seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  testing::Random random(seed);
  std::deque<std::int64_t> grants;
  for (int i = 0; i < 500; ++i) {
    advance_ms(random.between(0, 150));
    while (!grants.empty() && grants.front() <= clock_.now_ms() - kWindowMs) grants.pop_front();
    const Permission permission = take_permission(*limiter);
    ASSERT_EQ(permission.granted, grants.size() < kMaximum) << "step " << i;
    if (permission.granted) {
      grants.push_back(clock_.now_ms());
    } else {
      ASSERT_EQ(permission.retry_after_ms, grants.front() + kWindowMs - clock_.now_ms());
    }
  }
}

TEST_P(SlidingWindowTest, ApproximateGrantsAtReportedTime) {
  const auto limiter = window(Kind::kApproximate, 10, 1'000);
  const auto seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  testing::Random random(seed);
  int refusals = 0;
  for (int i = 0; i < 300; ++i) {
    const Permission permission = take_permission(*limiter);
    if (permission.granted) continue;
    ++refusals;
    ASSERT_GT(permission.retry_after_ms, 0);
    if (permission.retry_after_ms > 1) {
      advance_ms(permission.retry_after_ms - 1);
      ASSERT_FALSE(take_permission(*limiter).granted) << "step " << i << ": earlier than it said";
      advance_ms(1);
    } else {
      advance_ms(1);
    }
    ASSERT_TRUE(take_permission(*limiter).granted) << "step " << i << ": later than it said";
    advance_ms(random.between(0, 300));
  }
  EXPECT_GT(refusals, 50);
}

TEST_P(SlidingWindowTest, ClockBackRefusesForOneWindowAtMost) {
  for (const Kind kind : {Kind::kExact, Kind::kApproximate}) {
    const auto limiter = window(kind, 2, 1'000);
    const std::string name = kind == Kind::kExact ? "exact" : "approximate";
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(take_permission(*limiter, name).granted);
    set_now_ms(clock_.now_ms() - 3'600'000);
    EXPECT_FALSE(take_permission(*limiter, name).granted) << name;
    advance_ms(2'000);
    EXPECT_TRUE(take_permission(*limiter, name).granted) << name;
  }
}

TEST_P(SlidingWindowTest, IdleWindowIsNoKey) {
  const auto exact = window(Kind::kExact, 2, 1'000);
  const auto approximate = window(Kind::kApproximate, 2, 1'000);
  EXPECT_TRUE(take_permission(*exact, "exact").granted);
  EXPECT_TRUE(take_permission(*approximate, "approximate").granted);
  advance_ms(2'001);
  EXPECT_EQ((*client_)("EXISTS", "sliding-window:exact", "sliding-window:approximate"),
            Reply::integer(0));
}

class SlidingWindowNativeTest : public NativeScriptTest {
 protected:
  using Kind = SlidingWindowOptions::Kind;

  void compare(Kind kind);
};

void SlidingWindowNativeTest::compare(Kind kind) {
  const std::string key = "sliding-window:n";
  const SlidingWindowOptions options = {.kind = kind, .maximum = 9, .window_ms = 1'300};
  const Request state = kind == Kind::kExact
                            ? Request::of("ZRANGE", key, 0, -1, "WITHSCORES")
                            : Request::of("HMGET", key, "window", "current", "previous");
  const auto ours = *SlidingWindow::create(*embedded_, options);
  const auto theirs = *SlidingWindow::create(*redis_, options);
  const auto seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  testing::Random random(seed);
  for (int i = 0; i < 2'000; ++i) {
    const std::int64_t what = random.between(0, 19);
    const std::int64_t step_ms = random.between(0, 300);
    if (what == 0) clock_.set_now_ms(clock_.now_ms() - 10 * step_ms);
    if (what == 1) embedded_->advance_ms(10 * step_ms);
    if (what > 10) embedded_->advance_ms(step_ms);
    server_.set_now_ms(clock_.now_ms());
    const Permission our = take_permission(*ours);
    const Permission their = take_permission(*theirs);
    ASSERT_EQ(our.granted, their.granted) << "step " << i;
    ASSERT_EQ(our.remaining, their.remaining) << "step " << i;
    ASSERT_EQ(our.retry_after_ms, their.retry_after_ms) << "step " << i;
    ASSERT_EQ(our_client_->call(state), their_client_->call(state)) << "step " << i;
    ASSERT_EQ((*our_client_)("PEXPIRETIME", key), (*their_client_)("PEXPIRETIME", key)) << i;
  }
}

TEST_F(SlidingWindowNativeTest, ApproximateScriptsDecideAlike) { compare(Kind::kApproximate); }
TEST_F(SlidingWindowNativeTest, ExactScriptsDecideAlike) { compare(Kind::kExact); }

class ConcurrencyLimitTest : public RecipeTest {
 protected:
  std::unique_ptr<ConcurrencyLimit> limit_ =
      *ConcurrencyLimit::create(*backend_, {.maximum = 2, .lease_ms = 1'000});
};

INSTANTIATE_TEST_SUITE_P(Backends, ConcurrencyLimitTest, all_recipe_kinds(), recipe_name);

TEST_P(ConcurrencyLimitTest, ReleasedPermitIsGrantedAgain) {
  const auto first = limit_->acquire("n");
  const auto second = limit_->acquire("n");
  EXPECT_TRUE(first->granted && second->granted);
  EXPECT_NE(first->permit, second->permit);
  EXPECT_FALSE(limit_->acquire("n")->granted);
  EXPECT_TRUE(*limit_->release("n", first->permit));
  EXPECT_FALSE(*limit_->release("n", first->permit)) << "once";
  EXPECT_TRUE(limit_->acquire("n")->granted);
  EXPECT_FALSE(limit_->acquire("n")->granted);
}

/// The classic way counts holders. A crashed holder never decrements the counter.
TEST_P(ConcurrencyLimitTest, PermitOfCrashedHolderExpires) {
  Client& client = *client_;
  for (int i = 0; i < 2; ++i) client("INCR", "wrong");  // both holders crash
  advance_ms(3'600'000);
  EXPECT_EQ(client("GET", "wrong").text(), "2") << "the wrong way: full for ever";

  for (int i = 0; i < 2; ++i) EXPECT_TRUE(limit_->acquire("n")->granted);
  EXPECT_EQ(limit_->acquire("n")->retry_after_ms, 1'000);
  advance_ms(1'000);
  EXPECT_TRUE(limit_->acquire("n")->granted);
}

TEST_P(ConcurrencyLimitTest, RenewedPermitHolds) {
  const auto first = limit_->acquire("n");
  const auto second = limit_->acquire("n");
  advance_ms(900);
  EXPECT_TRUE(*limit_->renew("n", first->permit));
  advance_ms(900);
  EXPECT_FALSE(*limit_->renew("n", second->permit)) << "expired";
  EXPECT_FALSE(*limit_->release("n", second->permit));
  EXPECT_TRUE(limit_->acquire("n")->granted);
  EXPECT_FALSE(limit_->acquire("n")->granted);
  EXPECT_TRUE(*limit_->release("n", first->permit));
}

TEST_P(ConcurrencyLimitTest, IdleLimitLeavesNoKeys) {
  EXPECT_TRUE(limit_->acquire("n")->granted);
  advance_ms(1'001);
  EXPECT_EQ((*client_)("EXISTS", "concurrency:n"), Reply::integer(0));
}

TEST(SlidingWindowKindTest, EachKindHasItsName) {
  EXPECT_EQ(sliding_window_kind_name(SlidingWindowOptions::Kind::kExact), "exact");
  EXPECT_EQ(sliding_window_kind_name(SlidingWindowOptions::Kind::kApproximate), "approximate");
}

}  // namespace
}  // namespace rushgate
