// The admission script and its native twin give the same results for the same inputs: random
// histories, both on one engine each, compared answer by answer and key by key.
#include <random>

#include "engine/sale/admission/admission.h"
#include "tests/random_seed.h"
#include "tests/sale/sale_fixture.h"

namespace rushgate {
namespace {

/// One engine, with or without the twin, and a sale on it.
struct Side {
  ManualClock clock;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Client> client;
  MemoryOrderStore orders;
  std::unique_ptr<Sale> sale;

  explicit Side(bool native) {
    engine = *Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock},
                           native ? native_sale_scripts() : std::vector<NamedScript>{});
    client = engine->open_client();
    sale = *Sale::open(*client, orders, engine->clock());
  }
};

std::string everything(Client& client, VoucherId voucher) {
  std::string all;
  const SaleKeys keys;
  for (const std::string& key : {keys.voucher(voucher), keys.days(voucher)}) {
    all += to_debug_string(client("HGETALL", key)) + '\n';
  }
  const bool is_set = client("TYPE", keys.buyers(voucher)).text() == "set";
  all += to_debug_string(client(is_set ? "SMEMBERS" : "HGETALL", keys.buyers(voucher))) + '\n';
  all += to_debug_string(client("GET", keys.stock(voucher))) + '\n';
  all += to_debug_string(client("XRANGE", keys.order_stream, "-", "+"));
  return all;
}

Reply audit_snapshot(Client& client, VoucherId voucher) {
  const SaleKeys keys;
  const std::string names[] = {keys.voucher(voucher), keys.stock(voucher), keys.buyers(voucher),
                               keys.order_stream};
  const std::vector<std::string_view> views(std::begin(names), std::end(names));
  return client.run(audit_snapshot_script(), views, {});
}

TEST(NativeTwinTest, ScriptAndTwinAgreeOnRandomHistories) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
  };

  for (int history = 0; history < 30; ++history) {
    Side lua(false);
    Side native(true);
    for (int step = 0; step < 150; ++step) {
      const VoucherId id = 1 + below(2);
      if (step < 2 || below(20) == 0) {
        Voucher voucher;
        voucher.id = step < 2 ? 1 + step : id;
        voucher.stock = 5 + below(40);
        voucher.begin_ms = ManualClock::kStartMs + below(3) * 1'000;
        voucher.end_ms = voucher.begin_ms + 1'000 + below(10) * 40'000'000;
        voucher.limits = {.total = below(3) * 10,
                          .per_user = below(4),
                          .per_user_day = below(3),
                          .utc_offset_minutes = static_cast<std::int32_t>(below(1'400)) - 700};
        const absl::Status first = lua.sale->publish(voucher);
        ASSERT_EQ(first, native.sale->publish(voucher));
      } else if (below(15) == 0) {
        const std::int64_t duration_ms = below(2) == 0 ? below(2'000) : below(50'000'000);
        lua.engine->advance_ms(duration_ms);
        native.engine->advance_ms(duration_ms);
      } else {
        const UserId user = below(12) - 1;
        const std::string key = below(3) == 0 ? "key" + std::to_string(below(10)) : std::string();
        const BuyResult first = lua.sale->buy(id, user, key);
        const BuyResult second = native.sale->buy(id, user, key);
        ASSERT_EQ(outcome_name(first.outcome), outcome_name(second.outcome))
            << "history " << history << " step " << step;
        ASSERT_EQ(first.order, second.order);
      }
      ASSERT_EQ(everything(*lua.client, id), everything(*native.client, id))
          << "history " << history << " step " << step;
    }
    const auto lua_report = lua.sale->audit();
    const auto native_report = native.sale->audit();
    ASSERT_TRUE(lua_report.ok() && native_report.ok());
    EXPECT_EQ(lua_report->problems, std::vector<std::string>{});
    EXPECT_EQ(native_report->problems, std::vector<std::string>{});
    for (const VoucherId id : {1, 2, 3}) {  // there is no third
      EXPECT_EQ(to_debug_string(audit_snapshot(*lua.client, id)),
                to_debug_string(audit_snapshot(*native.client, id)));
    }
  }
}

TEST(NativeTwinTest, TheTwinRunsWhereTheEngineHasItAndTheTextElsewhere) {
  Side lua(false);
  Side native(true);
  const Request on_lua = AdmissionCall::make(*lua.client, SaleKeys{}, 1, 2, 3, {}, 1);
  const Request on_native = AdmissionCall::make(*native.client, SaleKeys{}, 1, 2, 3, {}, 1);
  EXPECT_EQ(on_lua[0], "EVALSHA");
  EXPECT_EQ(on_native[0], "FCALL");
}

}  // namespace
}  // namespace rushgate
