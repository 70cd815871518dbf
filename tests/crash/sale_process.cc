#include "tests/crash/sale_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
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
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include "tests/crash/recovery_fixture.h"
#include "tests/crash/sale_files.h"
#include "tests/support/hooked_backend.h"
#include <rushgate/engine.h>
#include <rushgate/order_worker.h>
#include <rushgate/order_worker_thread.h>
#include <rushgate/redis_backend.h>
#include <rushgate/rocksdb_store.h>
#include <rushgate/sale.h>
#include <rushgate/testing_stores.h>

extern char** environ;

namespace rushgate {
namespace {

constexpr const char* kFlag = "--sale-process";
constexpr int kReportFd = 3;
constexpr int kEndFd = 4;  // a storing process ends when this is closed
constexpr int kBuyers = 3;
constexpr std::chrono::seconds kHung{60};

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

/// Before a retry: another process needs the processor to become available.
void wait_a_moment() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

/// Retries while a Redis is unreachable or another process makes the same change. If that takes too
/// long, the watching process kills this one.
template <class Attempt>
auto when_available(Attempt attempt) {
  auto result = attempt();
  while (absl::IsUnavailable(result.status()) || absl::IsAborted(result.status())) {
    wait_a_moment();
    result = attempt();
  }
  return take(std::move(result));
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
    case Point::kBeforeList:  // only a rebuild reads this many here
      return CrashPoint::kInRebuild;
  }
  return CrashPoint::kNone;
}

// ---- The sale ----

/// Retries while the voucher is being rebuilt or, on a Redis, the server is unreachable.
BuyResult buy_patiently(Sale& sale, bool is_on_redis, const SalePlan::Row& row,
                        const std::string& idempotency_key) {
  while (true) {
    BuyResult result = sale.buy(row.voucher, row.user, idempotency_key);
    const bool is_gone =
        result.outcome == Outcome::kUnavailable || result.outcome == Outcome::kOutcomeUnknown;
    if (result.outcome != Outcome::kOverloaded && !(is_on_redis && is_gone)) return result;
    wait_a_moment();
  }
}

/// The stores of a sale, with crash points.
class CrashingStores {
 public:
  CrashingStores(const SaleProcess& process, Crash& crash)
      : files_(
            when_available([&] { return SaleFiles::open(process.dir, process.has_own_orders); })) {
    orders_.at_every_point([&crash](auto point) { crash.reach(point_of(point)); });
    if (process.redis_url.empty()) {
      open_engine(process.dir, crash);
    } else {
      open_redis(process.redis_url, crash);
    }
  }

  [[nodiscard]] SaleStores stores() { return files_.stores(orders_); }
  [[nodiscard]] Backend& keyspace() { return hooked_ ? *hooked_ : *backend_; }

 private:
  void open_engine(const std::filesystem::path& dir, Crash& crash) {
    RocksDbStoreOptions options;
    options.log_bytes_max = std::size_t{256} << 10;  // leaves little to preallocate at open
    auto store =
        std::make_unique<faults::FaultyStore>(take(RocksDbStore::open(dir / "keyspace", options)));
    store->at_every_point([&crash](auto point) { crash.reach(point_of(point)); });
    backend_ = take(Engine::open(std::move(store)));
  }
  void open_redis(const std::string& url, Crash& crash) {
    backend_ = when_available([&] { return RedisBackend::open(*RedisOptions::from_url(url)); });
    hooked_ = std::make_unique<HookedBackend>(
        *backend_,
        RequestHooks{.before = [&crash](const Request&) { crash.reach(CrashPoint::kBeforeCommit); },
                     .after = [&crash](const Request&,
                                       const Reply&) { crash.reach(CrashPoint::kAfterCommit); }});
  }

  const SaleFiles files_;
  faults::FaultyOrderStore orders_{*files_.orders};
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Backend> hooked_;  // on a Redis
};

class ProcessOfSale {
 public:
  ProcessOfSale(const SaleProcess& process, Crash& crash)
      : plan_(SalePlan::make(process.seed, process.takes_payments)),
        takes_payments_(process.takes_payments),
        is_on_redis_(!process.redis_url.empty()),
        crash_(crash),
        stores_(process, crash),
        client_(stores_.keyspace().open_client()) {}

  void sell() {
    const auto sale =
        when_available([&] { return Sale::open(stores_.keyspace(), stores_.stores()); });
    for (const Voucher& voucher : plan_.vouchers) {
      when_available([&]() -> absl::StatusOr<bool> {
        const absl::Status published = sale->publish(voucher);
        if (!published.ok()) return published;
        return true;
      });
    }
    std::vector<std::thread> buyers;
    for (std::size_t i = 0; i < kBuyers; ++i) {
      buyers.emplace_back([&, i] { buy_rows(*sale, i); });
    }
    for (std::thread& buyer : buyers) buyer.join();
  }

  void start_workers() {
    for (const char* name : kWorkers) {
      workers_.push_back(std::make_unique<OrderWorkerThread>(make_worker(name)));
    }
  }

  /// Stores the remaining orders.
  void finish_workers() {
    for (const auto& worker : workers_) worker->stop();
    if (takes_payments_) return finish_events();
    for (const char* name : kWorkers) {
      const auto worker = make_worker(name);
      while (true) {
        const OrderWorker::Step step = worker->step();
        if (step.kind == OrderWorker::Step::Kind::kIdle) break;
        if (is_on_redis_ && step.kind == OrderWorker::Step::Kind::kPaused) {
          wait_a_moment();
          continue;
        }
        if (!step.reason.empty() || step.buried + step.faulted > 0) fail("worker: " + step.reason);
      }
    }
  }

 private:
  static constexpr const char* kWorkers[] = {"w1", "w2"};

  std::unique_ptr<OrderWorker> make_worker(const std::string& name) {
    WorkerOptions options{.consumer = name, .batch_max = 4};
    // On a server whose time stands still, a blocking read would never end.
    if (!is_on_redis_) options.block_ms = 2;
    if (is_on_redis_ || takes_payments_) options.retry_after_ms = options.pause_ms_max = 1;
    return std::make_unique<OrderWorker>(stores_.keyspace(), stores_.stores(), SaleKeys{}, options);
  }

  void buy_rows(Sale& sale, std::size_t first) {
    for (std::size_t i = first; i < plan_.rows.size(); i += kBuyers) {
      lose_stock(i);
      const BuyResult result =
          buy_patiently(sale, is_on_redis_, plan_.rows[i], "row " + std::to_string(i));
      if (result.outcome != Outcome::kAccepted) {
        if (result.outcome == Outcome::kSoldOut || result.outcome == Outcome::kLimitReached)
          continue;
        fail("row " + std::to_string(i) + ": " + std::string(outcome_name(result.outcome)) + ' ' +
             result.detail);
      }
      const AcceptedRow accepted{static_cast<std::int64_t>(i), result.order};
      report(accepted);
      if (takes_payments_) change_order(sale, accepted);
    }
  }

  static void report(const AcceptedRow& row) {
    if (write(kReportFd, &row, sizeof row) != sizeof row) fail("nobody listens");
  }

  // ---- Payments ----

  /// Every row has one fate: paid, paid twice, cancelled, refunded, or left to its deadline.
  void change_order(Sale& sale, AcceptedRow row) {
    constexpr std::int64_t kFates = 5;
    switch (row.row % kFates) {
      case 0:
        pay(sale, row, 1);
        return;
      case 1:
        pay(sale, row, 1);
        pay(sale, row, 2);
        return;
      case 2:
        cancel(sale, row);
        return;
      case 3:
        if (pay(sale, row, 1)) refund(sale, row);
        return;
      default:
        return;
    }
  }

  /// Repeats a change while it may succeed later.
  template <class Change>
  static ChangeResult change_patiently(Change change) {
    ChangeResult result = change();
    while (result.outcome == ChangeOutcome::kOverloaded ||
           result.outcome == ChangeOutcome::kUnavailable ||
           result.outcome == ChangeOutcome::kOutcomeUnknown) {
      wait_a_moment();
      result = change();
    }
    return result;
  }

  bool pay(Sale& sale, AcceptedRow row, int which) {
    const PayRequest request{.order = row.order,
                             .payment = payment_of_row(row.row, which),
                             .amount_cents = plan_.vouchers[0].price_cents};
    const ChangeResult result = change_patiently([&] { return sale.pay(request); });
    const bool is_paid = result.outcome == ChangeOutcome::kDone;
    if (!is_paid && result.outcome != ChangeOutcome::kTooLate) fail("pay: " + result.detail);
    if (which == 2 && is_paid) fail("paid twice");
    row.report = which == 2 ? RowReport::kPaidTwice
                 : is_paid  ? RowReport::kPaid
                            : RowReport::kPaidLate;
    report(row);
    return is_paid;
  }

  void cancel(Sale& sale, AcceptedRow row) {
    const ChangeResult result = change_patiently([&] { return sale.cancel(row.order, "no"); });
    if (result.outcome != ChangeOutcome::kDone) fail("cancel: " + result.detail);
    row.report = RowReport::kCancelled;
    report(row);
  }

  void refund(Sale& sale, AcceptedRow row) {
    const ChangeResult result = change_patiently([&] { return sale.refund(row.order, "broken"); });
    if (result.outcome != ChangeOutcome::kDone) fail("refund: " + result.detail);
    row.report = RowReport::kRefunded;
    report(row);
  }

  /// Stores the remaining entries. An entry may wait for one that the other worker has.
  void finish_events() {
    std::vector<std::unique_ptr<OrderWorker>> workers;
    for (const char* name : kWorkers) workers.push_back(make_worker(name));
    bool is_done = false;
    while (!is_done) {
      is_done = true;
      for (const auto& worker : workers) {
        const OrderWorker::Step step = worker->step();
        if (step.buried > 0) fail("worker: an entry was buried");
        is_done = is_done && step.kind == OrderWorker::Step::Kind::kIdle;
      }
      const Reply pending = (*client_)("XPENDING", SaleKeys{}.order_stream, SaleKeys{}.group);
      is_done = is_done && pending.is_aggregate() && pending.elements()[0] == Reply::integer(0);
    }
  }

  void lose_stock(std::size_t row) {
    constexpr std::size_t kRowsBetween = 7;
    const bool is_meant = crash_.point() == CrashPoint::kInRebuild ||
                          crash_.point() == CrashPoint::kAfterCommit ||
                          crash_.point() == CrashPoint::kMoment;
    if (!is_meant || row % kRowsBetween != 0) return;
    (*client_)("DEL", SaleKeys{}.stock(plan_.rows[row].voucher));
  }

  const SalePlan plan_;
  const bool takes_payments_;
  const bool is_on_redis_;
  Crash& crash_;
  CrashingStores stores_;
  const std::unique_ptr<Client> client_;
  std::vector<std::unique_ptr<OrderWorkerThread>> workers_;
};

void wait_until_told_to_end() {
  char byte = 0;
  while (read(kEndFd, &byte, 1) > 0) {
  }
}

void run_sale(const SaleProcess& process, Crash& crash) {
  using Role = SaleProcess::Role;
  ProcessOfSale sale(process, crash);
  if (process.role != Role::kSells) sale.start_workers();
  if (process.role != Role::kStores) sale.sell();
  if (process.role == Role::kStores) wait_until_told_to_end();
  if (process.role != Role::kSells) sale.finish_workers();
}

}  // namespace

std::string crash_point_name(CrashPoint point) {
  constexpr std::string_view kNames[kCrashPoints] = {"none",        "before commit", "after commit",
                                                     "before sync", "after sync",    "before write",
                                                     "after write", "in a rebuild",  "any moment"};
  return std::string(kNames[static_cast<std::size_t>(point)]);
}

// ---- The plan ----

std::string payment_of_row(std::int64_t row, int which) {
  return "row" + std::to_string(row) + '.' + std::to_string(which);
}

SalePlan SalePlan::make(std::uint64_t seed, bool takes_payments) {
  std::mt19937_64 random(seed);
  SalePlan plan;
  plan.vouchers = {voucher_on_sale(1, 20 + static_cast<std::int64_t>(random() % 20), 1),
                   voucher_on_sale(2, 30 + static_cast<std::int64_t>(random() % 50), 2)};
  if (takes_payments) {
    constexpr std::int64_t kEnoughMs = 100 * 3'600'000;  // also where a test moves the time
    constexpr std::int64_t kShortMs = 20;
    plan.vouchers[0].payment_ms = kEnoughMs;
    plan.vouchers[1].payment_ms = kShortMs;
  }
  constexpr std::size_t kRows = 180;
  constexpr std::uint64_t kRowUsers = 35;
  while (plan.rows.size() < kRows) {
    plan.rows.push_back({.voucher = 1 + static_cast<VoucherId>(random() % 2),
                         .user = 1 + static_cast<std::int64_t>(random() % kRowUsers)});
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
  constexpr int kArguments =
      10;  // program, flag, directory, seed, URL, own orders, payments, role, point, nth
  if (argc != kArguments || std::string_view(argv[1]) != kFlag) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  SaleProcess process{.dir = argv[2],
                      .seed = std::strtoull(argv[3], nullptr, 10),
                      .redis_url = argv[4],
                      .has_own_orders = std::atoi(argv[5]) != 0,
                      .takes_payments = std::atoi(argv[6]) != 0,
                      .role = static_cast<Role>(std::atoi(argv[7]))};
  Crash crash(static_cast<CrashPoint>(std::atoi(argv[8])), std::atoi(argv[9]));
  run_sale(process, crash);
  std::exit(0);
}

SaleProcess::End SaleProcess::run(std::vector<AcceptedRow>& accepted) const {
  RunningProcess running(*this);
  if (role == Role::kStores) running.finish();
  if (point == CrashPoint::kMoment) running.kill_after(std::chrono::microseconds(moment_us));
  const End end = running.wait(accepted);
  return end;
}

RunningProcess::RunningProcess(const SaleProcess& process) {
  int said[2];
  int ending[2];
  if (pipe2(said, O_CLOEXEC) != 0 || pipe2(ending, O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipe");
  }
  said_ = said[0];
  to_child_ = ending[1];
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // Moved above both numbers first: one of the pipes may occupy them.
  constexpr int kAbove = 100;
  posix_spawn_file_actions_adddup2(&actions, said[1], kAbove);
  posix_spawn_file_actions_adddup2(&actions, ending[0], kAbove + 1);
  posix_spawn_file_actions_adddup2(&actions, kAbove, kReportFd);
  posix_spawn_file_actions_adddup2(&actions, kAbove + 1, kEndFd);
  posix_spawn_file_actions_addclose(&actions, kAbove);
  posix_spawn_file_actions_addclose(&actions, kAbove + 1);
  std::string arguments[] = {"recovery_test",
                             kFlag,
                             process.dir.string(),
                             std::to_string(process.seed),
                             process.redis_url,
                             std::to_string(static_cast<int>(process.has_own_orders)),
                             std::to_string(static_cast<int>(process.takes_payments)),
                             std::to_string(static_cast<int>(process.role)),
                             std::to_string(static_cast<int>(process.point)),
                             std::to_string(process.nth)};
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const int spawned =
      posix_spawn(&child_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(said[1]);
  close(ending[0]);
  if (spawned != 0) throw std::runtime_error("cannot start myself");
  listener_ = std::thread([this] { listen(); });
}

RunningProcess::~RunningProcess() {
  if (listener_.joinable()) {
    kill();
    std::vector<AcceptedRow> ignored;
    wait(ignored);
  }
  close(said_);
}

void RunningProcess::listen() {
  AcceptedRow row{};
  while (read(said_, &row, sizeof row) == sizeof row) {
    const std::lock_guard lock(mutex_);
    rows_.push_back(row);
    changed_.notify_all();
  }
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  changed_.notify_all();
}

bool RunningProcess::wait_for_rows(std::size_t count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kHung, [&] { return has_ended_ || rows_.size() >= count; });
}

std::size_t RunningProcess::rows() {
  const std::lock_guard lock(mutex_);
  return rows_.size();
}

bool RunningProcess::has_ended() {
  const std::lock_guard lock(mutex_);
  return has_ended_;
}

void RunningProcess::finish() {
  if (to_child_ >= 0) close(std::exchange(to_child_, -1));
}

void RunningProcess::kill() { ::kill(child_, SIGKILL); }

void RunningProcess::kill_after(std::chrono::microseconds moment) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, moment, [&] { return has_ended_; })) kill();
}

SaleProcess::End RunningProcess::wait(std::vector<AcceptedRow>& accepted) {
  using End = SaleProcess::End;
  bool is_hung = false;
  {
    std::unique_lock lock(mutex_);
    is_hung = !changed_.wait_for(lock, kHung, [&] { return has_ended_; });
  }
  if (is_hung) kill();
  listener_.join();
  finish();
  accepted.insert(accepted.end(), rows_.begin(), rows_.end());
  int status = 0;
  waitpid(child_, &status, 0);
  if (is_hung) return End::kFailed;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return End::kKilled;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? End::kFinished : End::kFailed;
}

}  // namespace rushgate
