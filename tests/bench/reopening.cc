// Measures the time until a sale is open again after its process was killed.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tests/bench/lines.h"
#include "tests/bench/load.h"
#include "tests/bench/part_process.h"
#include "tests/bench/redis_peer.h"
#include "tests/bench/seckill_script.h"
#include "tests/bench/shop.h"
#include "tests/bench/stopwatch.h"
#include <rushgate/sale_keys.h>

namespace rushgate::bench {
namespace {

namespace fs = std::filesystem;

/// Returns the number of buyers and orders in a keyspace. Opening makes these elements readable.
double elements_of(Client& client, const std::string& buyers, const std::string& orders) {
  const Reply members = client("SCARD", buyers);
  const Reply entries = client("XLEN", orders);
  if (members.is_error() || entries.is_error()) fail("the sale was not restored");
  return static_cast<double>(members.integer() + entries.integer());
}

/// Leaves the files of a process that was killed after `count` admissions.
void sell_and_kill(const fs::path& dir, std::int64_t count, int batch) {
  first_numbers("sell", {dir.string(), std::to_string(count), std::to_string(batch)});
}

/// Opening leaves files that open faster, so each measurement starts from a copy.
void copy_afresh(const fs::path& from, const fs::path& to) {
  fs::remove_all(to);
  fs::copy(from, to, fs::copy_options::recursive);
}

/// The same sale on the peer.
class PeerSale {
 public:
  explicit PeerSale(std::int64_t count) {
    redis_.prepare(Workload::kAccepted);
    redis_.sell(count);
    elements_ = elements_of(redis_.client(), kBuyersKey, kOrderStream);
    rewrites_ = redis_.rewrites();
    redis_.server().kill();
    fs::copy(files(), killed_.path(), fs::copy_options::recursive);
  }

  /// Reopens the sale and returns elements per second.
  double reopen() {
    redis_.server().kill();
    copy_afresh(killed_.path(), files());
    const Stopwatch watch;
    redis_.server().restart();
    return elements_ / watch.seconds();
  }

  [[nodiscard]] const std::string& rewrites() const { return rewrites_; }

 private:
  [[nodiscard]] fs::path files() {
    return fs::path(redis_.server().socket_path()).parent_path() / "appendonlydir";
  }

  RedisPeer redis_{PeerDurability::kEverySec, RedisPeer::Rewrites::kByDefault};
  const ScratchDirectory killed_;
  double elements_ = 0;
  std::string rewrites_;
};

void compare_reopening(int batch, std::int64_t sold, PeerSale& peer, const Effort& effort,
                       Report& report) {
  const std::string how =
      batch == 1 ? "sold one at a time" : "sold in batches of " + std::to_string(batch);
  const ScratchDirectory scratch;
  const fs::path killed = scratch.path() / "killed";
  sell_and_kill(killed, sold, batch);
  Comparison comparison{.line = "reopening after a kill, " + how,
                        .unit = "elements/s",
                        .ours_is = "from starting the process to the first reply",
                        .peer_is = "the same, of redis-server with its append-only file",
                        .target = 3};
  Samples opening;
  Samples store_seconds;
  for (int round = 0; round < effort.rounds; ++round) {
    const fs::path copy = scratch.path() / "copy";
    copy_afresh(killed, copy);
    const Stopwatch ours;
    PartProcess part("reopen", {copy.string()});
    const std::vector<double> opened = part.numbers();
    comparison.ours.add(opened[0] / ours.seconds());
    if (opened[0] != static_cast<double>(2 * sold)) {
      fail(fmt::format("of {} elements {} were restored", 2 * sold, opened[0]));
    }
    store_seconds.add(opened[1]);
    opening.add(opened[0] / opened[2]);
    part.kill();
    comparison.peer.add(peer.reopen());
  }
  comparison.note = fmt::format(
      "{} buyers and as many orders, of which ours reads the buyers and leaves the orders in the "
      "store; {}",
      short_number(static_cast<double>(sold)), peer.rewrites());
  report.add(std::move(comparison));
  report.add(
      Figure{.line = "opening store and engine after a kill, " + how,
             .unit = "elements/s",
             .value = opening.median(),
             .better = Better::kMore,
             .target = 2e6,
             .note = fmt::format("the store alone {}", with_unit(store_seconds.median(), "s"))});
}

}  // namespace

void sell(std::span<const std::string> arguments) {
  Shop shop(Durability::kOs, arguments[0]);
  const std::int64_t count = std::stoll(arguments[1]);
  const int batch = std::stoi(arguments[2]);
  const ProcessMemory before = process_memory();
  batch == 1 ? shop.rate_one_by_one(count) : shop.rate_in_batches(count, batch);
  say({process_memory().resident - before.resident});
  wait_for_the_end();
}

void reopen(std::span<const std::string> arguments) {
  const Stopwatch watch;
  auto store = open_store(Durability::kOs, fs::path(arguments[0]) / "keyspace");
  const double store_seconds = watch.seconds();
  auto engine = Engine::open(std::move(store));
  if (!engine.ok()) fail(engine.status().ToString());
  const double seconds = watch.seconds();
  const auto client = (*engine)->open_client();
  const SaleKeys keys;
  say({elements_of(*client, keys.buyers(kVoucher), keys.order_stream), store_seconds, seconds});
  wait_for_the_end();
}

void measure_reopening(const Effort& effort, Report& report) {
  const std::int64_t sold = std::max(effort.buyers / 5, std::int64_t{kBatch}) / kBatch * kBatch;
  PeerSale peer(sold);
  for (const int batch : {kBatch, 1}) compare_reopening(batch, sold, peer, effort, report);
}

}  // namespace rushgate::bench
