// The limit per user and day, where the clock goes back over midnight: by both texts of the
// admission script.
#include <memory>

#include <gtest/gtest.h>

#include "engine/executor/engine.h"
#include "engine/sale/orders/order_worker.h"
#include "engine/sale/sale.h"
#include "storage/memory/memory_order_store.h"
#include "storage/memory/memory_store.h"
#include "tests/forwarding_backend.h"

namespace rushgate {
namespace {

constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::int64_t kDayMs = 24 * 60 * kMinuteMs;
constexpr std::int64_t kMidnightMs = 20'000 * kDayMs;

enum class AdmissionText : std::uint8_t { kNative, kLua };

class DayLimitTest : public ::testing::TestWithParam<AdmissionText> {
 protected:
  DayLimitTest() {
    clock_.set_now_ms(kMidnightMs + kMinuteMs);
    if (GetParam() == AdmissionText::kLua) lua_only_ = std::make_unique<LuaOnlyBackend>(*engine_);
    Backend& backend = lua_only_ ? static_cast<Backend&>(*lua_only_) : *engine_;
    sale_ = *Sale::open(backend, orders_);
    worker_ = std::make_unique<OrderWorker>(backend, orders_, SaleKeys{});
    EXPECT_TRUE(sale_
                    ->publish({.id = 1,
                               .title = "voucher",
                               .stock = 100,
                               .begin_ms = kMidnightMs - kDayMs,
                               .end_ms = kMidnightMs + 5 * kDayMs,
                               .limits = {.per_user = 0, .per_user_day = 1}})
                    .ok());
  }

  Outcome buy(UserId user) { return sale_->buy(1, user).outcome; }

  MemoryOrderStore orders_;
  ManualClock clock_;
  std::unique_ptr<Engine> engine_ =
      *Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock_});
  std::unique_ptr<LuaOnlyBackend> lua_only_;
  std::unique_ptr<Sale> sale_;
  std::unique_ptr<OrderWorker> worker_;
};

INSTANTIATE_TEST_SUITE_P(Texts, DayLimitTest,
                         ::testing::Values(AdmissionText::kNative, AdmissionText::kLua),
                         [](const ::testing::TestParamInfo<AdmissionText>& text) {
                           return text.param == AdmissionText::kNative ? "Native" : "Lua";
                         });

TEST_P(DayLimitTest, OrderCountsForTheDayOfItsEntry) {
  EXPECT_EQ(buy(1), Outcome::kAccepted);
  clock_.set_now_ms(kMidnightMs - kMinuteMs);  // yesterday again, while the stream goes on
  EXPECT_EQ(buy(2), Outcome::kAccepted);
  EXPECT_EQ(buy(2), Outcome::kDayLimitReached);
  clock_.set_now_ms(kMidnightMs + 2 * kMinuteMs);
  EXPECT_EQ(buy(1), Outcome::kDayLimitReached);
  EXPECT_EQ(buy(2), Outcome::kDayLimitReached);
  clock_.set_now_ms(kMidnightMs + kDayMs);
  EXPECT_EQ(buy(1), Outcome::kAccepted);
  EXPECT_EQ(buy(2), Outcome::kAccepted);
  while (worker_->step().kind == OrderWorker::Step::Kind::kWorked) {
  }
  const auto report = sale_->audit();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
}

}  // namespace
}  // namespace rushgate
