// Random sales of a voucher on several lanes: moves are left unfinished at each step and repeated late, lanes lose
// their keys, and orders end. Nothing is oversold, and nobody is told that the voucher is sold out while a
// piece is left.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/sale/split/piece_mover.h"
#include "engine/sale/vouchers/voucher_rebuilder.h"
#include "tests/support/hooked_backend.h"
#include "tests/support/random.h"
#include "tests/support/sweep.h"
#include "tests/unit/sale/split_voucher_fixture.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

/// One sale.
class Schedule final : public SplitVoucherFixture {
 public:
  explicit Schedule(std::uint64_t seed)
      : SplitVoucherFixture(*sale_backends(TestTime::kManual,
                                           [](const SaleBackendKind& kind) {
                                             return !kind.keeps_orders_in_file && !kind.has_lanes;
                                           })
                                 .front()),
        random_(seed) {}
  void TestBody() override {}

  void run() {
    restart_sale();
    stock_ = random_.between(0, 12);
    Voucher voucher = split(stock_);
    voucher.payment_ms = 3'600'000;
    ASSERT_TRUE(sale_->publish(voucher).ok());
    for (int i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) act();
    backend_.advance_ms(PieceMover::kSoldOutMs);
    const std::int64_t left = stock_ - sold_;
    EXPECT_EQ(sell_out(), left);
    store_all();
    expect_audit_passes();
  }

 private:
  using Lanes = std::pair<int, int>;  // from, to

  int lane() { return static_cast<int>(random_.below(kSplitLanes)); }
  Lanes two_lanes() {
    const int from = lane();
    return {from, (from + 1 + static_cast<int>(random_.below(kSplitLanes - 1))) % kSplitLanes};
  }

  void act() {
    switch (random_.below(13)) {
      case 0:
        return give_back();
      case 1:
        store_all();
        return lose_keys_of(lane());
      case 2:
        return take_pieces();
      case 3:
        return record_pieces();
      case 4:
        return put_pieces();
      case 5:
        return add_stock();
      case 6:
        return restart_sale();
      case 7:
        return store_all();
      case 8:
        return record_late();
      default:
        return buy_some();
    }
  }

  void buy_some() {
    backend_.advance_ms(PieceMover::kSoldOutMs);  // else a returned piece may be missed for so long
    const auto quantity = random_.chance(80) ? 1 : random_.between(2, 4);
    const BuyResult result =
        sale_->buy({.voucher = kSplit, .user = random_.between(1, 1'000), .quantity = quantity});
    const bool is_there = sold_ + quantity <= stock_;
    EXPECT_EQ(result.outcome, is_there ? Outcome::kAccepted : Outcome::kSoldOut)
        << result.detail << " (" << sold_ << " of " << stock_ << " are sold)";
    if (result.outcome != Outcome::kAccepted) return;
    sold_ += quantity;
    unpaid_.emplace_back(result.order, quantity);
  }

  void give_back() {
    if (unpaid_.empty()) return;
    const std::size_t place = random_.below(unpaid_.size());
    const auto [order, quantity] = unpaid_[place];
    unpaid_.erase(unpaid_.begin() + static_cast<std::ptrdiff_t>(place));
    const ChangeResult cancelled = sale_->cancel(order, "", "user");
    // Its lane may have lost the voucher, and nobody has bought there since.
    if (cancelled.outcome == ChangeOutcome::kDone) sold_ -= quantity;
  }

  void add_stock() {
    const std::int64_t more = random_.between(-4, 4);
    const bool is_possible = sold_ <= stock_ + more && stock_ + more >= 0;
    if (random_.chance(50))
      death_.emplace(static_cast<int>(random_.between(1, 60)), random_.chance(50));
    try {
      const absl::Status added = sale_->add_stock(kSplit, more);
      EXPECT_EQ(added.ok(), is_possible) << added;
    } catch (const Killed&) {
    }
    const bool was_killed = death_ && death_->has_struck();
    death_.reset();
    if (was_killed) {
      sale_.reset();
      backend_.advance_ms(VoucherRebuilder::kAbandonedMs);  // it may have been rebuilding
      restart_sale();
    }
    const std::int64_t stock = sale_->voucher(kSplit).value()->voucher.stock;
    EXPECT_TRUE(stock == stock_ + more ? is_possible : was_killed || !is_possible) << stock;
    stock_ = stock;
  }

  void take_pieces() {
    const auto [from, to] = two_lanes();
    take(from, to, random_.between(1, 3));
  }

  void record_pieces() {
    const Lanes lanes = two_lanes();
    if (given(lanes) == 0) return;
    if (random_.chance(50)) {
      late_.push_back(read_given(lanes.first, lanes.second));
    } else {
      recorded_[lanes].push_back(record(lanes.first, lanes.second));
    }
  }

  /// Records what was read long ago, unless the lane was fenced since.
  void record_late() {
    if (late_.empty()) return;
    const Unrecorded& late = random_.pick(late_);
    const absl::Status recorded = backend_.orders().record_moved(late.moved, late.fence);
    EXPECT_TRUE(recorded.ok() || absl::IsAborted(recorded)) << recorded;
  }

  /// Puts what was recorded, perhaps long ago.
  void put_pieces() {
    const Lanes lanes = two_lanes();
    const std::vector<std::int64_t>& numbers = recorded_[lanes];
    if (!numbers.empty()) put(lanes.first, lanes.second, random_.pick(numbers));
  }

  void restart_sale() {
    sale_.reset();
    sale_ = open_sale(mortal_);
  }

  std::optional<Death> death_;  // of the process, with one of its next requests
  HookedBackend mortal_{backend_.keyspace(),
                        {.before =
                             [this](const Request& request) {
                               if (death_) death_->hooks().before(request);
                             },
                         .after =
                             [this](const Request& request, const Reply& reply) {
                               if (death_) death_->hooks().after(request, reply);
                             }}};
  testing::Random random_;
  std::int64_t stock_ = 0;
  std::int64_t sold_ = 0;  // pieces of live orders
  std::vector<std::pair<OrderId, std::int64_t>> unpaid_;
  std::map<Lanes, std::vector<std::int64_t>> recorded_;
  std::vector<Unrecorded> late_;
};

void run_schedules(std::uint64_t first_seed, int count) {
  for (int i = 0; i < count && !::testing::Test::HasFailure(); ++i) {
    const std::uint64_t seed = first_seed + static_cast<std::uint64_t>(i);
    SCOPED_TRACE(seed_text(seed));
    Schedule(seed).run();
  }
}

TEST(SplitScheduleTest, FixedSchedulesSellEachPieceOnce) {
  run_schedules(1, testing::is_full_run() ? 50'000 : 250);
}

TEST(SplitScheduleTest, NewSchedulesSellEachPieceOnce) {
  run_schedules(random_seed(), testing::is_full_run() ? 50'000 : 250);
}

}  // namespace
}  // namespace rushgate
