// A selling process, a storing process and the redis-server between them. They are killed (SIGKILL)
// or lose power, alone or together, at moments chosen by a seed.
#include <algorithm>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/crash/asked_sale.h"
#include "tests/crash/sale_process.h"
#include "tests/support/redis_server/redis_server.h"
#include "tests/support/sweep.h"
#include <rushgate/random_seed.h>
#include <rushgate/redis_backend.h>

namespace rushgate {
namespace {

enum class Victims : std::uint8_t { kSeller, kWorker, kServer, kServerAndSeller, kAll };

struct Setting {
  const char* name;
  Victims victims;
  const char* appendfsync;
  bool may_lose;            // acknowledged writes, when the server ends
  bool cuts_power = false;  // cuts the server's power instead of killing it
};

constexpr Setting kSettings[] = {
    {"Seller", Victims::kSeller, "always", false},
    {"Worker", Victims::kWorker, "always", false},
    {"ServerThatSyncsAlways", Victims::kServer, "always", false},
    {"ServerThatSyncsAlwaysAndSeller", Victims::kServerAndSeller, "always", false},
    {"AllWhereTheServerSyncsAlways", Victims::kAll, "always", false},
    // Acknowledged writes of the last second are lost with the server if its fsync is late.
    {"ServerThatSyncsEverySecond", Victims::kServer, "everysec", true},
    {"ServerThatSyncsEverySecondAndSeller", Victims::kServerAndSeller, "everysec", true},
    {"AllWhereTheServerSyncsEverySecond", Victims::kAll, "everysec", true},
    {"PowerOfServerThatSyncsAlways", Victims::kServer, "always", false, true},
    {"PowerOfServerThatSyncsEverySecond", Victims::kServer, "everysec", true, true},
    {"AllAndThePowerWhereTheServerSyncsEverySecond", Victims::kAll, "everysec", true, true},
};

std::string setting_name(const ::testing::TestParamInfo<Setting>& setting) {
  return setting.param.name;
}

void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.name; }

class ServerKillTest : public ::testing::TestWithParam<Setting> {
 protected:
  using Role = SaleProcess::Role;

  /// Runs one sale to its end and kills the victims `kills` times on the way. Returns the number of
  /// kills.
  int sell(int kills) {
    AskedSale sale(random_());
    testing::RedisServer server({.append_only = true,
                                 .arguments = {"--appendfsync", GetParam().appendfsync},
                                 .can_lose_power = GetParam().cuts_power});
    const auto start = [&](Role role) {
      return std::make_unique<RunningProcess>(SaleProcess{
          .dir = sale.directory(), .seed = sale.seed(), .redis_url = server.url(), .role = role});
    };
    auto seller = start(Role::kSells);
    auto worker = start(Role::kStores);
    const auto wait_and_note = [&](RunningProcess& process) {
      std::vector<AcceptedRow> accepted;
      const SaleProcess::End end = process.wait(accepted);
      sale.note(accepted);
      return end;
    };
    const auto replace = [&](std::unique_ptr<RunningProcess>& process, Role role) {
      process->kill();
      EXPECT_NE(wait_and_note(*process), SaleProcess::End::kFailed);  // it may have completed
      process = start(role);
    };
    int killed = 0;
    for (; killed < kills; ++killed) {
      const std::size_t rows = seller->rows() + 1 + random_() % 25;
      EXPECT_TRUE(seller->wait_for_rows(rows)) << "nothing is sold any more";
      if (seller->has_ended() || HasFailure()) break;
      if (kills_server()) GetParam().cuts_power ? server.cut_power() : server.kill();
      if (kills_worker()) replace(worker, Role::kStores);
      if (kills_seller()) replace(seller, Role::kSells);
      if (kills_server()) server.restart();
    }
    EXPECT_EQ(wait_and_note(*seller), SaleProcess::End::kFinished);
    // From here nothing is lost any more. Every row is requested again.
    seller = start(Role::kSells);
    EXPECT_EQ(wait_and_note(*seller), SaleProcess::End::kFinished);
    worker->finish();
    std::vector<AcceptedRow> none;
    EXPECT_EQ(worker->wait(none), SaleProcess::End::kFinished);
    const auto keyspace = *RedisBackend::open(*RedisOptions::from_url(server.url()));
    if (GetParam().may_lose) {
      lost_ += sale.check_after_losses(*keyspace);
    } else {
      sale.check(*keyspace);
    }
    return killed;
  }

  [[nodiscard]] static bool kills_seller() {
    return is_one_of({Victims::kSeller, Victims::kServerAndSeller, Victims::kAll});
  }
  [[nodiscard]] static bool kills_worker() { return is_one_of({Victims::kWorker, Victims::kAll}); }
  [[nodiscard]] static bool kills_server() {
    return is_one_of({Victims::kServer, Victims::kServerAndSeller, Victims::kAll});
  }

  const std::uint64_t seed_ = random_seed();
  std::mt19937_64 random_{seed_};
  std::size_t lost_ = 0;

 private:
  static bool is_one_of(std::initializer_list<Victims> several) {
    return std::find(several.begin(), several.end(), GetParam().victims) != several.end();
  }
};
INSTANTIATE_TEST_SUITE_P(Settings, ServerKillTest, ::testing::ValuesIn(kSettings), setting_name);

TEST_P(ServerKillTest, NothingIsOversoldUnderAnySetting) {
  const int kills_wanted = testing::is_full_run() ? 24 : 8;
  constexpr int kKillsOfSale = 4;
  SCOPED_TRACE(seed_text(seed_));
  std::cout << seed_text(seed_) << '\n';
  int sales = 0;
  for (int kills = 0; kills < kills_wanted && !HasFailure(); ++sales) kills += sell(kKillsOfSale);
  std::cout << sales << " sales, " << lost_ << " orders lost\n";
}

}  // namespace
}  // namespace rushgate
