#include "tests/recovery/sale_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string_view>
#include <thread>
#include <utility>

#include "adapters/testing/faulty_store.h"
#include "engine/executor/engine.h"
#include "engine/sale/orders/order_worker.h"
#include "engine/sale/sale.h"
#include "storage/rocksdb/rocksdb_store.h"
#include "storage/sqlite/sqlite_order_store.h"
#include "tests/faults/faulty_order_store.h"
#include "tests/recovery/recovery_fixture.h"

extern char** environ;

namespace rushgate {
namespace {

constexpr const char* kFlag = "--sale-process";
constexpr int kReportFd = 3;
constexpr int kBuyers = 3;
constexpr std::int64_t kHungMs = 60'000;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "sale process: %s\n", what.c_str());
  _exit(1);
}

void fail_unless(const absl::Status& status) {
  if (!status.ok()) fail(status.ToString());
}

template <class T>
T take(absl::StatusOr<T> result) {
  fail_unless(result.status());
  return *std::move(result);
}

// ---- The crash ----

/// Kills the process when a point has been reached often enough. Thread-safe.
class Crash {
 public:
  Crash(CrashPoint point, int nth) : point_(point), left_(nth) {}

  [[nodiscard]] CrashPoint point() const { return point_; }

  void reach(CrashPoint point) {
    if (point == point_ && left_.fetch_sub(1) == 1) kill(getpid(), SIGKILL);
  }

 private:
  const CrashPoint point_;
  std::atomic<int> left_;
};

CrashPoint point_of(faults::FaultyStore::Point point) {
  using Point = faults::FaultyStore::Point;
  switch (point) {
    case Point::kBeforeCommit:
      return CrashPoint::kBeforeCommit;
    case Point::kAfterCommit:
      return CrashPoint::kAfterCommit;
    case Point::kBeforeSync:
      return CrashPoint::kBeforeSync;
    case Point::kAfterSync:
      return CrashPoint::kAfterSync;
  }
  return CrashPoint::kNone;
}

CrashPoint point_of(faults::FaultyOrderStore::Point point) {
  using Point = faults::FaultyOrderStore::Point;
  switch (point) {
    case Point::kBeforeWrite:
      return CrashPoint::kBeforeWrite;
    case Point::kAfterWrite:
      return CrashPoint::kAfterWrite;
    case Point::kBeforeList:  // only a rebuild reads so many here
      return CrashPoint::kInRebuild;
  }
  return CrashPoint::kNone;
}

// ---- The sale ----

/// Asks again while the voucher is being rebuilt.
BuyResult buy_patiently(Sale& sale, const SalePlan::Row& row, const std::string& request_key) {
  while (true) {
    BuyResult result = sale.buy(row.voucher, row.user, request_key);
    if (result.outcome != Outcome::kOverloaded) return result;
    std::this_thread::yield();
  }
}

void buy_rows(Sale& sale, const SalePlan& plan, std::size_t first,
              const std::function<void(std::size_t row)>& before) {
  for (std::size_t i = first; i < plan.rows.size(); i += kBuyers) {
    before(i);
    const BuyResult result = buy_patiently(sale, plan.rows[i], "row " + std::to_string(i));
    if (result.outcome != Outcome::kAccepted) {
      if (result.outcome == Outcome::kSoldOut || result.outcome == Outcome::kLimitReached) continue;
      fail("row " + std::to_string(i) + ": " + std::string(outcome_name(result.outcome)) + ' ' +
           result.detail);
    }
    const AcceptedRow accepted{static_cast<std::int64_t>(i), result.order};
    if (write(kReportFd, &accepted, sizeof accepted) != sizeof accepted) fail("nobody listens");
  }
}

void run_sale(const std::filesystem::path& dir, const SalePlan& plan, Crash& crash) {
  RocksDbStoreOptions options;
  options.log_bytes_max = std::size_t{256} << 10;  // little to set aside when it is opened
  auto store =
      std::make_unique<faults::FaultyStore>(take(RocksDbStore::open(dir / "keyspace", options)));
  store->at_every_point([&crash](auto point) { crash.reach(point_of(point)); });
  faults::FaultyOrderStore orders(take(SqliteOrderStore::open(dir / "orders.db")));
  orders.at_every_point([&crash](auto point) { crash.reach(point_of(point)); });

  const auto engine = take(Engine::open(std::move(store)));
  const auto client = engine->open_client();
  const auto sale = take(Sale::open(*engine, orders));
  for (const Voucher& voucher : plan.vouchers) fail_unless(sale->publish(voucher));

  const auto make_worker = [&](const std::string& name) {
    return std::make_unique<OrderWorker>(
        *engine, orders, SaleKeys{},
        WorkerOptions{.consumer = name, .batch_max = 4, .block_ms = 2});
  };
  std::vector<std::unique_ptr<OrderWorkerThread>> workers;
  for (const char* name : {"w1", "w2"}) {
    workers.push_back(std::make_unique<OrderWorkerThread>(make_worker(name)));
  }
  const auto lose_stock = [&](std::size_t row) {
    constexpr std::size_t kRowsBetween = 7;
    const bool is_meant = crash.point() == CrashPoint::kInRebuild ||
                          crash.point() == CrashPoint::kAfterCommit ||
                          crash.point() == CrashPoint::kMoment;
    if (!is_meant || row % kRowsBetween != 0) return;
    (*client)("DEL", SaleKeys{}.stock(plan.rows[row].voucher));
  };
  std::vector<std::thread> buyers;
  for (std::size_t i = 0; i < kBuyers; ++i) {
    buyers.emplace_back([&, i] { buy_rows(*sale, plan, i, lose_stock); });
  }
  for (std::thread& buyer : buyers) buyer.join();
  for (const auto& worker : workers) worker->stop();

  for (const char* name : {"w1", "w2"}) {
    const auto worker = make_worker(name);
    while (true) {
      const OrderWorker::Step step = worker->step();
      if (step.kind == OrderWorker::Step::Kind::kIdle) break;
      if (!step.reason.empty() || step.buried + step.faulted > 0) fail("worker: " + step.reason);
    }
  }
}

}  // namespace

std::string crash_point_name(CrashPoint point) {
  constexpr std::string_view kNames[kCrashPoints] = {"none",        "before commit", "after commit",
                                                     "before sync", "after sync",    "before write",
                                                     "after write", "in a rebuild",  "any moment"};
  return std::string(kNames[static_cast<std::size_t>(point)]);
}

// ---- The plan ----

SalePlan SalePlan::make(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  SalePlan plan;
  plan.vouchers = {voucher_on_sale(1, 20 + static_cast<std::int64_t>(random() % 20), 1),
                   voucher_on_sale(2, 30 + static_cast<std::int64_t>(random() % 50), 2)};
  constexpr std::size_t kRows = 180;
  constexpr std::uint64_t kUsers = 35;
  while (plan.rows.size() < kRows) {
    plan.rows.push_back({.voucher = 1 + static_cast<VoucherId>(random() % 2),
                         .user = 1 + static_cast<UserId>(random() % kUsers)});
  }
  return plan;
}

std::int64_t SalePlan::orders_expected(const Voucher& voucher) const {
  std::map<UserId, std::int64_t> wanted;
  for (const Row& row : rows) {
    if (row.voucher == voucher.id) ++wanted[row.user];
  }
  std::int64_t expected = 0;
  for (const auto& [user, count] : wanted) expected += std::min(count, voucher.limits.per_user);
  return std::min(expected, voucher.stock);
}

// ---- The process, from inside and outside ----

void SaleProcess::be_one_if_told(int argc, char** argv) {
  constexpr int kArguments = 6;  // program, flag, directory, seed, point, nth
  if (argc != kArguments || std::string_view(argv[1]) != kFlag) return;
  Crash crash(static_cast<CrashPoint>(std::atoi(argv[4])), std::atoi(argv[5]));
  run_sale(argv[2], SalePlan::make(std::strtoull(argv[3], nullptr, 10)), crash);
  std::exit(0);
}

SaleProcess::End SaleProcess::run(std::vector<AcceptedRow>& accepted) const {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return End::kFailed;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], kReportFd);
  std::string arguments[] = {"recovery_test",
                             kFlag,
                             dir.string(),
                             std::to_string(seed),
                             std::to_string(static_cast<int>(point)),
                             std::to_string(nth)};
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t child = -1;
  const int spawned =
      posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (spawned != 0) {
    close(ends[0]);
    return End::kFailed;
  }

  // Listens until the process has ended, or until the moment has come in which it shall.
  using Steady = std::chrono::steady_clock;
  const auto moment =
      Steady::now() + (point == CrashPoint::kMoment ? std::chrono::microseconds(moment_us)
                                                    : std::chrono::milliseconds(kHungMs));
  bool stopped_by_us = false;
  AcceptedRow row{};
  while (true) {
    const auto left = std::max(Steady::duration::zero(), moment - Steady::now());
    const timespec timeout{
        .tv_sec = std::chrono::duration_cast<std::chrono::seconds>(left).count(),
        .tv_nsec =
            std::chrono::duration_cast<std::chrono::nanoseconds>(left).count() % std::nano::den};
    pollfd listened{.fd = ends[0], .events = POLLIN, .revents = 0};
    if (!stopped_by_us && ppoll(&listened, 1, &timeout, nullptr) == 0) {
      kill(child, SIGKILL);
      stopped_by_us = true;
    }
    if (read(ends[0], &row, sizeof row) != sizeof row) break;
    accepted.push_back(row);
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
    return stopped_by_us && point != CrashPoint::kMoment ? End::kFailed : End::kKilled;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? End::kFinished : End::kFailed;
}

}  // namespace rushgate
