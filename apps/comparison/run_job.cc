#include "apps/comparison/run_job.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "adapters/flash_sale/sale_directory.h"
#include "apps/comparison/job.h"
#include "apps/comparison/rush.h"
#include "apps/comparison/shared_memory.h"
#include "apps/strategies/shards.h"
#include "apps/strategies/strategies.h"
#include "engine/core/base/latency_histogram.h"
#include <rushgate/engine.h>
#include <rushgate/open_backend.h>
#include <rushgate/rocksdb_store.h>

namespace rushgate::comparison {
namespace {

using SteadyClock = std::chrono::steady_clock;
using strategies::Decision;

/// Writes a line at once, by one call. It counts as seen by the outside world.
void report(std::string line) {
  line += '\n';
  if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    throw std::runtime_error("the comparison does not listen");
  }
}

std::string next_line() {
  std::string line;
  if (!std::getline(std::cin, line)) throw std::runtime_error("there is no job on stdin");
  return line;
}

[[noreturn]] void wait_for_kill() {
  report(kHalfLine);
  while (true) ::pause();
}

std::unique_ptr<Backend> open_keyspace(const Job& job) {
  if (!job.keyspace_url.empty()) {
    OpenBackendOptions options;
    options.client_name = "rushgate-strategies";
    options.connections_max = job.threads + 4 * strategies::kShards;  // and those of the workers
    return open_backend(job.keyspace_url, options).value();
  }
  return Engine::open(RocksDbStore::open(keyspace_in(job.dir)).value()).value();
}

/// Threads that serve the clicks of the job in order.
class Clicks {
 public:
  Clicks(const Job& job, const strategies::Setting& setting, strategies::Strategy& strategy)
      : job_(job), setting_(setting), strategy_(strategy) {
    const std::vector<std::int64_t> all = make_clicks(job.users, job.seed);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool comes = job.schedule != strategies::ScheduleKind::kFewShards ||
                         strategies::shard_of(all[i]) < strategies::kShards / 2;
      if (comes && static_cast<int>(i) % job.parts == job.part) users_.push_back(all[i]);
    }
  }

  JobResult run() {
    const SteadyClock::time_point begin = SteadyClock::now();
    std::vector<std::thread> threads;
    for (int number = 0; number < job_.threads; ++number) {
      threads.emplace_back([this, number] { serve(number); });
    }
    for (std::thread& thread : threads) thread.join();
    if (error_) std::rethrow_exception(error_);
    JobResult result;
    result.served = static_cast<std::int64_t>(latency_.count());
    result.turned_away = turned_away_;
    result.sold_out = sold_out_;
    result.seconds = std::chrono::duration<double>(SteadyClock::now() - begin).count();
    result.p50_ns = latency_.percentile(50);
    result.p99_ns = latency_.percentile(99);
    return result;
  }

 private:
  static constexpr std::size_t kReportEvery = 64;

  void serve(int number) {
    try {
      strategies::OrderFile orders(setting_.dir);
      const auto client = setting_.backend != nullptr ? setting_.backend->open_client() : nullptr;
      strategies::Desk desk{number, orders, client.get(), *setting_.schedule};
      LatencyHistogram latency;
      for (std::size_t i = 0; (i = next_++) < users_.size();) {
        latency.add(serve(desk, users_[i]));
        if ((i + 1) % kReportEvery == 0) report(fmt::format("{}{}", kServedWord, i + 1));
      }
      const std::lock_guard lock(mutex_);
      latency_.add(latency);
    } catch (...) {
      next_ = users_.size();
      const std::lock_guard lock(mutex_);
      error_ = std::current_exception();
    }
  }

  /// Serves one click. Returns its duration in ns.
  std::int64_t serve(strategies::Desk& desk, std::int64_t user) {
    desk.schedule.begin_click();
    const SteadyClock::time_point begin = SteadyClock::now();
    const Decision decision = strategy_.buy(desk, user);
    const SteadyClock::duration duration = SteadyClock::now() - begin;
    desk.schedule.end_click();
    if (decision == Decision::kAccepted) {
      report(fmt::format("{}{}", kAcceptedWord, user));
      desk.schedule.note_accepted(user);
    }
    if (decision == Decision::kTurnedAway) ++turned_away_;
    if (decision == Decision::kSoldOut) ++sold_out_;
    return std::chrono::nanoseconds(duration).count();
  }

  const Job& job_;
  const strategies::Setting& setting_;
  strategies::Strategy& strategy_;
  std::vector<std::int64_t> users_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::int64_t> turned_away_{0};
  std::atomic<std::int64_t> sold_out_{0};
  std::mutex mutex_;
  // Guarded by mutex_:
  LatencyHistogram latency_;
  std::exception_ptr error_;
};

void run(const Job& job) {
  const strategies::StrategyKind* const kind = strategies::find_strategy(job.strategy);
  if (kind == nullptr) throw std::invalid_argument("no strategy " + job.strategy);
  std::optional<SharedMemory> memory;
  strategies::SharedCounts shared;
  if (job.shared_fd >= 0) {
    memory.emplace(job.shared_fd, strategies::SharedCounts::size(job.users));
    shared.counts = memory->counts();
  }
  strategies::Schedule schedule({.kind = job.schedule,
                                 .will_happen = job.will_happen,
                                 .stock = job.stock,
                                 .kill_after = job.kill_after,
                                 .kill_late = kind->redelivers && job.seed % 2 == 0,
                                 .wait_for_kill = wait_for_kill},
                                shared);
  const auto backend = kind->has_keyspace ? open_keyspace(job) : nullptr;
  const strategies::Setting setting{.dir = job.dir,
                                    .backend = backend.get(),
                                    .prefix = job.prefix,
                                    .stock = job.stock,
                                    .threads = job.threads,
                                    .schedule = &schedule};
  const auto strategy = kind->make(setting);
  if (job.publish) strategy->publish();
  strategy->start();
  report(kReadyLine);
  next_line();
  JobResult result = Clicks(job, setting, *strategy).run();
  strategy->finish();
  result.stock_left = strategy->stock_left();
  report(kEndWord + result.line());
}

}  // namespace

bool run_job() {
  try {
    run(Job::from_line(next_line()));
    return true;
  } catch (const std::exception& error) {
    std::string why = error.what();
    std::ranges::replace(why, '\n', ' ');
    report(kErrorWord + why);
    return false;
  }
}

}  // namespace rushgate::comparison
