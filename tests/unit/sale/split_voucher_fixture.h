// A sale with a voucher on several lanes, whose moves may be left unfinished.
#pragma once

#include <cstdint>
#include <iterator>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/core/base/concat.h"
#include "engine/sale/scripts/payment_scripts.h"
#include "engine/sale/scripts/voucher_scripts.h"
#include "tests/unit/sale/sale_fixture.h"
#include <rushgate/order_rules.h>

namespace rushgate {

inline constexpr int kSplitLanes = 3;
inline constexpr VoucherId kSplit = 7;

/// Publishes the voucher kSplit on kSplitLanes lanes.
class SplitVoucherFixture : public SaleFixture {
 protected:
  explicit SplitVoucherFixture(const SaleBackendKind& kind, TestTime time = TestTime::kManual)
      : SaleFixture(kind, time, {.lanes = kSplitLanes}) {}

  [[nodiscard]] Voucher split(std::int64_t stock, Limits limits = {.per_user = 0}) {
    Voucher voucher = SaleFixture::voucher(kSplit, stock, limits);
    voucher.lanes = kSplitLanes;
    return voucher;
  }
  void publish(std::int64_t stock, Limits limits = {.per_user = 0}) {
    const absl::Status published = sale_->publish(split(stock, limits));
    ASSERT_TRUE(published.ok()) << published;
  }
  const SaleKeys& keys_of(int lane) { return sale_->lanes()[static_cast<std::size_t>(lane)].keys; }
  /// Returns the `nth` user of a lane.
  static std::int64_t user_of(int lane, int nth = 0) {
    for (std::int64_t user = 1;; ++user) {
      if (lane_of_user(user, kSplitLanes) == lane && nth-- == 0) return user;
    }
  }
  std::int64_t free_on(int lane) {
    return std::stoll(std::string(backend_.client()("GET", keys_of(lane).stock(kSplit)).text()));
  }
  std::vector<std::int64_t> free_on_all() {
    std::vector<std::int64_t> free;
    for (int lane = 0; lane < kSplitLanes; ++lane) free.push_back(free_on(lane));
    return free;
  }
  std::int64_t free_in_all() {
    const std::vector<std::int64_t> free = free_on_all();
    return std::accumulate(free.begin(), free.end(), std::int64_t{0});
  }
  OrderId bought(std::int64_t user) {
    const BuyResult result = sale_->buy(kSplit, user);
    EXPECT_EQ(result.outcome, Outcome::kAccepted) << result.detail;
    return result.order;
  }
  /// Lets a worker of each lane store what it has. An order may wait for another lane.
  void store_all() {
    constexpr int kRoundsMax = 20;
    for (int round = 0; round < kRoundsMax; ++round) {
      bool is_done = true;
      for (const SaleLane& lane : sale_->lanes()) is_done = store(lane) && is_done;
      if (is_done) return;
      backend_.advance_ms(WorkerOptions{}.retry_after_ms);
    }
    ADD_FAILURE() << "the workers have not stored everything";
  }
  /// Returns false if something is to be stored later.
  bool store(const SaleLane& lane) {
    OrderWorker worker(backend_.keyspace(), lane.stores, lane.keys, {.consumer = "c1"});
    bool is_done = true;
    OrderWorker::Step step;
    do {
      step = worker.step();
      EXPECT_EQ(step.buried, 0) << "an accepted order became a dead letter";
      is_done = is_done && step.faulted == 0;
    } while (step.kind == OrderWorker::Step::Kind::kWorked);
    return is_done && step.kind == OrderWorker::Step::Kind::kIdle;
  }
  void lose_keys_of(int lane) {
    const std::string prefix = keys_of(lane).prefix;
    const std::string pattern =
        lane == 0 ? "*" : concat(prefix.substr(0, prefix.find('}') + 1), "*");
    const Reply found = backend_.client()("KEYS", pattern);
    for (const Reply& name : found.elements()) {
      if (lane == 0 && name.text().starts_with('{')) continue;
      backend_.client()("DEL", name.text());
    }
    backend_.advance_ms(1);  // a new stream gives the ids of this millisecond once more
  }
  /// Returns the pieces that a lane gave to another, as its keyspace has it.
  std::int64_t given(std::pair<int, int> lanes) {
    const Reply pieces = backend_.client()("HGET", keys_of(lanes.first).voucher(kSplit),
                                           concat("to:", lanes.second));
    return pieces.is_text() ? std::stoll(std::string(pieces.text())) : 0;
  }
  /// Takes pieces out of a lane like a process that ends after that. Returns how many.
  std::int64_t take(int from, int to, std::int64_t pieces) {
    return run(voucher_scripts::take_pieces(), from, to, pieces);
  }
  /// A number that a process has read and not recorded yet.
  struct Unrecorded {
    MovedPieces moved;
    BatchFence fence;
  };
  Unrecorded read_given(int from, int to) {
    OrderStore& orders = sale_->lanes()[static_cast<std::size_t>(from)].stores.orders;
    const DatabaseState state = orders.state().value();
    return {.moved = {kSplit, from, to, given({from, to})},
            .fence = {.epoch = state.epoch, .session = state.session, .lane = from}};
  }
  /// Records what a lane gave, like a process that ends after that. Returns it.
  std::int64_t record(int from, int to) {
    const Unrecorded read = read_given(from, to);
    EXPECT_TRUE(backend_.orders().record_moved(read.moved, read.fence).ok());
    return read.moved.pieces;
  }
  std::int64_t put(int from, int to, std::int64_t given) {
    return run(voucher_scripts::put_pieces(), to, from, given);
  }
  /// Buys with ever new users until the sale says that it is sold out. Returns the pieces that were sold.
  std::int64_t sell_out(std::int64_t first_user = 1'000) {
    std::int64_t sold = 0;
    int refused = 0;
    for (std::int64_t user = first_user; refused < 3 * kSplitLanes; ++user) {
      const Outcome outcome = buy(kSplit, user);
      EXPECT_TRUE(outcome == Outcome::kAccepted || outcome == Outcome::kSoldOut)
          << outcome_name(outcome);
      const bool is_sold = outcome == Outcome::kAccepted;
      EXPECT_FALSE(is_sold && refused > 0) << "sold after somebody was told that none is left";
      sold += is_sold ? 1 : 0;
      refused += is_sold ? 0 : 1;
    }
    return sold;
  }
  void expect_refused(const absl::Status& status, std::string_view why) {
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(std::string(why)));
  }

 private:
  std::int64_t run(const Script& script, int lane, int other, std::int64_t pieces) {
    const lua::VoucherKeys names = payment_scripts::keys_of(keys_of(lane), kSplit);
    const std::string arguments[] = {std::to_string(other), std::to_string(pieces),
                                     std::to_string(kSplit)};
    const std::vector<std::string_view> texts(std::begin(arguments), std::end(arguments));
    const Reply reply = backend_.client().run(script, names.in_order(), texts);
    return reply.elements().size() == 2 ? reply.elements()[1].integer() : 0;
  }
};

}  // namespace rushgate
