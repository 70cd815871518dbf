// Measures the losses of a sale under each durability setting, by a kill, a power cut or a
// failover: the table of docs/production.md. Exits with 1 if something was oversold or sold twice,
// or if a setting broke its promise.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tests/crash/losses/shop.h"
#include "tests/crash/losses/victim.h"
#include "tests/support/faults/noted_syncs/noted_syncs.h"
#include "tests/support/redis_server/raw_connection.h"
#include "tests/support/redis_server/redis_server.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/sqlite_order_store.h>

namespace rushgate::losses {
namespace {

using testing::RawConnection;
using testing::RedisServer;
using testing::RedisServerOptions;

enum class Fault : std::uint8_t {
  kKilled,     // the process that holds the keyspace, by SIGKILL
  kPowerCut,   // of its machine
  kFailover,   // its replica takes over
  kPartition,  // the same, after the replica was isolated for a while
  kFull,       // the server's memory is full for a moment
};

struct Columns {
  Fault fault;
  const char* title;
};
constexpr Columns kColumns[] = {{Fault::kKilled, "killed"},
                                {Fault::kPowerCut, "power cut"},
                                {Fault::kFailover, "failover"},
                                {Fault::kPartition, "failover, replica cut off before"},
                                {Fault::kFull, "memory full"}};

/// A row of the table, and its promise.
struct Setting {
  std::string name;
  std::vector<Fault> faults;    // faults to try
  std::vector<Fault> survives;  // the faults among them that must lose nothing
  bool is_embedded = false;
  Durability durability = Durability::kMemory;  // embedded
  std::vector<std::string> arguments = {};      // of redis-server
  bool evicts = false;           // keys of the sale: its audit may fail, or the sale is refused
  std::string url_options = {};  // behind the server's address
};

std::vector<Setting> settings() {
  using enum Fault;
  const std::vector<std::string> everysec = {"--appendonly", "yes", "--appendfsync", "everysec"};
  const auto with = [](std::vector<std::string> all, const std::vector<std::string>& more) {
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const auto embedded = [](std::string name, Durability durability, std::vector<Fault> survives) {
    return Setting{.name = "embedded, `" + std::move(name) + "`",
                   .faults = {kKilled, kPowerCut},
                   .survives = std::move(survives),
                   .is_embedded = true,
                   .durability = durability};
  };
  return {
      embedded("memory", Durability::kMemory, {}),
      embedded("os", Durability::kOs, {kKilled}),
      embedded("everysec", Durability::kEverySec, {kKilled}),
      embedded("sync", Durability::kSync, {kKilled, kPowerCut}),
      {.name = "Redis, no persistence", .faults = {kKilled, kPowerCut}, .survives = {}},
      {.name = "Redis, `save 1 1`",
       .faults = {kKilled, kPowerCut},
       .survives = {},
       .arguments = {"--save", "1 1"}},
      {.name = "Redis, `appendfsync everysec`",
       .faults = {kKilled, kPowerCut, kFailover, kPartition},
       .survives = {},  // during a long fsync, Redis replies before it writes
       .arguments = everysec},
      {.name = "Redis, `appendfsync always`",
       .faults = {kKilled, kPowerCut},
       .survives = {kKilled, kPowerCut},
       .arguments = {"--appendonly", "yes", "--appendfsync", "always"}},
      {.name = "Redis, `everysec`, `min-replicas-to-write 1`, `min-replicas-max-lag 1`",
       .faults = {kFailover, kPartition},
       .survives = {},
       .arguments = with(everysec, {"--min-replicas-to-write", "1", "--min-replicas-max-lag", "1",
                                    "--repl-ping-replica-period", "1"})},
      {.name = "Redis, `everysec`, `confirm_replicas=1`",
       .faults = {kFailover, kPartition},
       .survives = {kFailover, kPartition},
       .arguments = everysec,
       .url_options = "?confirm_replicas=1&confirm_ms=50&sync_replicas=1"},
      {.name = "Redis, `maxmemory-policy noeviction`",
       .faults = {kFull},
       .survives = {kFull},
       .arguments = {"--maxmemory-policy", "noeviction"}},
      {.name = "Redis, `maxmemory-policy allkeys-lru`",
       .faults = {kFull},
       .survives = {},
       .arguments = {"--maxmemory-policy", "allkeys-lru"},
       .evicts = true},
  };
}

/// The result of one sale.
struct Result {
  std::int64_t accepted = 0;
  std::int64_t lost = 0;  // accepted orders without a row at the end
  std::int64_t rows = 0;
  std::string problems = {};  // from the audit; empty: none
};

Result count(const std::filesystem::path& dir, const std::vector<OrderId>& accepted) {
  auto orders = SqliteOrderStore::open(dir / "orders.db");
  if (!orders.ok()) throw std::runtime_error(orders.status().ToString());
  std::set<OrderId> stored;
  const absl::Status read = for_each_order(**orders, {.voucher = 1},
                                           [&](const Order& order) { stored.insert(order.id); });
  if (!read.ok()) throw std::runtime_error(read.ToString());
  Result result{.accepted = static_cast<std::int64_t>(accepted.size()),
                .rows = static_cast<std::int64_t>(stored.size())};
  for (const OrderId order : accepted) result.lost += stored.contains(order) ? 0 : 1;
  return result;
}

// ---- Embedded -----------------------------------------------------------------------------------

Result run_embedded(const Setting& setting, Fault fault, std::int64_t stock, std::int64_t moment) {
  const TemporaryDirectory directory(TemporaryDirectory::Where::kOnDisk);
  const TemporaryDirectory notes(TemporaryDirectory::Where::kOnDisk);
  Victim victim{.dir = directory.path(),
                .durability = setting.durability,
                .stock = stock,
                .orders_until_killed = moment};
  if (fault == Fault::kPowerCut) victim.notes = notes.path() / "syncs";
  std::vector<OrderId> accepted = victim.run();
  if (fault == Fault::kPowerCut) testing::lose_unsynced(directory.path(), victim.notes);
  victim.orders_until_killed = 0;
  victim.notes.clear();
  for (const OrderId order : victim.run()) accepted.push_back(order);
  return count(directory.path(), accepted);
}

// ---- On Redis -----------------------------------------------------------------------------------

/// Waits for `condition`, at most for `patience`.
void wait_for(std::chrono::milliseconds patience, absl::FunctionRef<bool()> condition) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::int64_t info(const RedisServer& server, std::string_view field) {
  const std::string text(RawConnection(server.socket_path()).call(Request::of("INFO")).text());
  const std::size_t at = text.find(field);
  if (at == std::string::npos) throw std::runtime_error("INFO has no " + std::string(field));
  return std::stoll(text.substr(at + field.size()));
}

void set_memory_max(const RedisServer& server, std::int64_t bytes) {
  const Reply reply =
      RawConnection(server.socket_path()).call(Request::of("CONFIG", "SET", "maxmemory", bytes));
  if (reply != Reply::ok()) throw std::runtime_error(to_debug_string(reply));
}

/// One server, its replica if the fault needs one, and the fault.
class Servers {
 public:
  Servers(const Setting& setting, Fault fault)
      : fault_(fault),
        needs_replica_(!setting.url_options.empty()),
        options_{.arguments = setting.arguments,
                 .can_lose_power = fault == Fault::kPowerCut,
                 .listens_on_tcp = fault == Fault::kFailover || fault == Fault::kPartition,
                 .where = TemporaryDirectory::Where::kInTmp} {
    server_ = std::make_unique<RedisServer>(options_);
    url_ = server_->url() + setting.url_options;
    if (!options_.listens_on_tcp) return;
    replica_ = std::make_unique<RedisServer>(options_);
    replica_->replicate(*server_);
  }

  [[nodiscard]] const std::string& url() const { return url_; }

  void strike() {
    switch (fault_) {
      case Fault::kKilled:
        return server_->restart();
      case Fault::kPowerCut:
        server_->cut_power();
        return server_->restart();
      case Fault::kPartition:
        replica_->pause();
        wait_for(kPartition, [] { return false; });
        fail_over();
        return;
      case Fault::kFailover:
        return fail_over();
      case Fault::kFull:
        set_memory_max(*server_, info(*server_, "used_memory:") / 2);
        wait_for(kFullFor, [] { return false; });
        set_memory_max(*server_, 0);
        return;
    }
  }

 private:
  static constexpr std::chrono::milliseconds kPartition{4'000};
  static constexpr std::chrono::milliseconds kFullFor{50};

  void fail_over() {
    server_->kill();
    if (fault_ == Fault::kPartition) replica_->resume();
    // It has also lost its replica, and the rest of the sale has none.
    RawConnection(replica_->socket_path())
        .call(Request::of("CONFIG", "SET", "min-replicas-to-write", 0));
    replica_->promote();
    replica_->take_over_address_of(*server_);
    if (!needs_replica_) return;
    next_replica_ = std::make_unique<RedisServer>(options_);
    next_replica_->replicate(*replica_);
  }

  const Fault fault_;
  const bool needs_replica_;  // also after a failover
  const RedisServerOptions options_;
  std::string url_;
  std::unique_ptr<RedisServer> server_;
  std::unique_ptr<RedisServer> replica_;
  std::unique_ptr<RedisServer> next_replica_;
};

Result run_on_redis(const Setting& setting, Fault fault, std::int64_t stock, std::int64_t moment) {
  const TemporaryDirectory directory(TemporaryDirectory::Where::kOnDisk);
  Servers servers(setting, fault);
  std::vector<OrderId> accepted;
  std::atomic<std::int64_t> count_accepted = 0;
  std::exception_ptr failure;
  std::string problems;
  {
    Shop shop(directory.path(), servers.url(), stock);
    const auto note = [&](OrderId order) {
      accepted.push_back(order);
      ++count_accepted;
    };
    std::atomic<bool> has_ended = false;
    // Servers stay on this thread: they end with the thread that started them.
    std::thread buyers([&] {
      try {
        shop.sell(note);
      } catch (...) {
        failure = std::current_exception();
      }
      has_ended = true;
    });
    while (count_accepted < moment && !has_ended) std::this_thread::yield();
    servers.strike();
    buyers.join();
    if (failure) std::rethrow_exception(failure);
    shop.sell(note);  // all may be sold before the fault
    shop.drain();
    problems = shop.audit();
  }
  Result result = count(directory.path(), accepted);
  result.problems = std::move(problems);
  return result;
}

// ---- The table ----------------------------------------------------------------------------------

struct Cell {
  std::vector<std::int64_t> lost;  // one per completed run
  int failed_audits = 0;
  int stopped = 0;
};

std::string text_of(const Cell& cell) {
  std::string text = "0";
  if (!cell.lost.empty()) {
    const auto [least, most] = std::minmax_element(cell.lost.begin(), cell.lost.end());
    if (*most > 0) text = fmt::format("{} … {}", *least, *most);
  }
  if (cell.failed_audits > 0) text += fmt::format("; failed audits: {}", cell.failed_audits);
  if (cell.stopped > 0) text += fmt::format("; sales that stopped: {}", cell.stopped);
  return text;
}

class Table {
 public:
  Table(int runs, std::int64_t stock, std::uint64_t seed)
      : runs_(runs), stock_(stock), random_(seed) {}

  /// Returns the table in Markdown, with the settings whose names contain `part`.
  std::string make(std::string_view part) {
    std::string text = "| setting |";
    std::string line = "\n| --- |";
    for (const Columns& column : kColumns) {
      text += fmt::format(" {} |", column.title);
      line += " --- |";
    }
    text += line + '\n';
    for (const Setting& setting : settings()) {
      if (setting.name.find(part) == std::string::npos) continue;
      text += fmt::format("| {} |", setting.name);
      for (const Columns& column : kColumns) text += fmt::format(" {} |", cell(setting, column));
      text += '\n';
    }
    return text;
  }

  [[nodiscard]] bool is_wrong() const { return is_wrong_; }

 private:
  static bool contains(const std::vector<Fault>& faults, Fault fault) {
    return std::find(faults.begin(), faults.end(), fault) != faults.end();
  }

  std::string cell(const Setting& setting, const Columns& column) {
    if (!contains(setting.faults, column.fault)) return "";
    Cell cell;
    for (int run = 0; run < runs_; ++run) {
      // Neither at the start nor at the end.
      const std::int64_t moment =
          stock_ / 5 +
          static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(stock_ / 2));
      std::cerr << setting.name << ", " << column.title << ", after " << moment << " orders: ";
      try {
        sell(setting, column, moment, cell);
      } catch (const std::exception& error) {
        if (!setting.evicts) throw;
        std::cerr << "stopped: " << error.what() << '\n';
        ++cell.stopped;
      }
    }
    return text_of(cell);
  }

  void sell(const Setting& setting, const Columns& column, std::int64_t moment, Cell& cell) {
    const Result result = setting.is_embedded ? run_embedded(setting, column.fault, stock_, moment)
                                              : run_on_redis(setting, column.fault, stock_, moment);
    std::cerr << result.lost << " of " << result.accepted << " lost, " << result.rows << " rows\n";
    cell.lost.push_back(result.lost);
    if (!result.problems.empty()) ++cell.failed_audits;
    if (!result.problems.empty() && !setting.evicts) complain(setting, column, result.problems);
    if (result.rows != stock_) complain(setting, column, "the stock is not what was sold");
    if (result.lost > 0 && contains(setting.survives, column.fault)) {
      complain(setting, column, "it lost what it promises to keep");
    }
  }

  void complain(const Setting& setting, const Columns& column, std::string_view what) {
    std::cerr << "WRONG: " << setting.name << ", " << column.title << ": " << what << '\n';
    is_wrong_ = true;
  }

  const int runs_;
  const std::int64_t stock_;
  std::mt19937_64 random_;
  bool is_wrong_ = false;
};

/// Writes the table between its begin and end comments.
void write_into(const std::filesystem::path& page, const std::string& table) {
  constexpr std::string_view kBegin = "<!-- losses -->\n";
  constexpr std::string_view kEnd = "<!-- end of losses -->";
  std::ifstream in(page, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::size_t begin = text.find(kBegin);
  const std::size_t end = text.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    throw std::runtime_error(page.string() + " has no place for the table");
  }
  const std::size_t from = begin + kBegin.size();
  text.replace(from, end - from, table);
  std::ofstream out(page, std::ios::binary);
  out << text;
  if (!out.flush()) throw std::runtime_error("cannot write " + page.string());
}

int run(int argc, char** argv) {
  CLI::App app("Breaks keyspaces in the middle of a sale, and counts what is lost.");
  int runs = 10;
  std::int64_t stock = 100'000;
  std::uint64_t seed = std::random_device()();
  std::string page;
  std::string only;
  app.add_option("--runs", runs, "of each cell")->check(CLI::PositiveNumber);
  app.add_option("--stock", stock, "that a sale begins with")->check(CLI::Range(100, 10'000'000));
  app.add_option("--seed", seed, "of the moments");
  auto* const filter = app.add_option("--only", only, "settings with this in their names");
  app.add_option("--document", page, "the page to put the table into; else it is printed")
      ->excludes(filter);
  CLI11_PARSE(app, argc, argv);
  std::cerr << "seed " << seed << '\n';
  Table table(runs, stock, seed);
  const std::string text = table.make(only);
  if (page.empty()) {
    std::cout << text;
  } else {
    write_into(page, text);
  }
  return table.is_wrong() ? 1 : 0;
}

}  // namespace
}  // namespace rushgate::losses

int main(int argc, char** argv) {
  rushgate::losses::Victim::be_one_if_told(argc, argv);
  try {
    return rushgate::losses::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "loss_table: " << error.what() << '\n';
    return 1;
  }
}
