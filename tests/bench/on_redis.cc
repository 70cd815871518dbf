// Compares a sale on a redis-server with the best rate of redis-benchmark and hiredis, with the
// same script and keys on the same server.
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/fiber/fiber.hpp>
#include <fmt/format.h>

#include "engine/sale/scripts/admission.h"
#include "tests/bench/hiredis_connection.h"
#include "tests/bench/lines.h"
#include "tests/bench/load.h"
#include "tests/bench/redis_benchmark.h"
#include "tests/bench/shop.h"
#include "tests/bench/stopwatch.h"
#include "tests/bench/users.h"
#include "tests/support/redis_server/redis_server.h"
#include <rushgate/fiber_wait.h>
#include <rushgate/memory_order_store.h>
#include <rushgate/redis_backend.h>
#include <rushgate/sale.h>

namespace rushgate::bench {
namespace {

/// A sale through a RedisBackend.
class SaleOnRedis {
 public:
  explicit SaleOnRedis(const testing::RedisServer& server, const std::string& url_options = "") {
    auto backend = RedisBackend::open(*RedisOptions::from_url(server.url() + url_options));
    if (!backend.ok()) fail(backend.status().ToString());
    backend_ = *std::move(backend);
    client_ = backend_->open_client();
    requests_ =
        std::make_unique<AdmissionRequests>(*client_, SaleKeys{}, SaleOptions{}.request_ttl_ms);
    sale_ = open_sale({});
    fiber_sale_ = open_sale({.wait = &fiber_wait()});
    constexpr std::int64_t kFarOffMs = 4'000'000'000'000;
    const absl::Status published = sale_->publish({.id = kVoucher,
                                                   .title = "bench",
                                                   .stock = kUnlimited,
                                                   .begin_ms = 0,
                                                   .end_ms = kFarOffMs});
    if (!published.ok()) fail(published.ToString());
    buy();  // loads the script
  }

  void buy() { expect(Outcome::kAccepted, sale_->buy(kVoucher, user_id(next_user_++))); }

  /// Returns admissions per second.
  double rate_of_fibers(std::int64_t count) {
    const Stopwatch watch;
    std::vector<boost::fibers::fiber> fibers;
    for (int f = 0; f < kFibers; ++f) {
      fibers.emplace_back([&, first = next_user_ + f * (count / kFibers)] {
        for (std::int64_t i = 0; i < count / kFibers; ++i) {
          expect(Outcome::kAccepted, fiber_sale_->buy(kVoucher, user_id(first + i)));
        }
      });
    }
    for (auto& fiber : fibers) fiber.join();
    next_user_ += count;
    return static_cast<double>(count) / watch.seconds();
  }

  double rate_of_threads(std::int64_t count) {
    const Stopwatch watch;
    run_threads(count, [](double /*us*/) {});
    return static_cast<double>(count) / watch.seconds();
  }

  /// Returns the median of the times of all threads' purchases.
  double median_us_of_threads(std::int64_t count) {
    std::mutex mutex;
    std::vector<double> durations;
    run_threads(count, [&](double us) {
      const std::lock_guard lock(mutex);
      durations.push_back(us);
    });
    return Samples::of(std::move(durations)).median();
  }

  /// Returns the request that the sale sends for this user.
  [[nodiscard]] Request request(std::int64_t user, OrderId order) const {
    const UserId buyer_id(user);
    const AdmissionRequests::Buyer buyer{.user = &buyer_id, .order = order, .idempotency_key = {}};
    return requests_->make({kVoucher}, {&buyer, 1});
  }

 private:
  /// Buys in all threads. `took` gets the time of each purchase.
  template <class Took>
  void run_threads(std::int64_t count, Took took) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, first = next_user_ + t * (count / kThreads)] {
        for (std::int64_t i = 0; i < count / kThreads; ++i) {
          const Stopwatch watch;
          expect(Outcome::kAccepted, sale_->buy(kVoucher, user_id(first + i)));
          took(watch.seconds() * kMicroseconds);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    next_user_ += count;
  }

  std::unique_ptr<Sale> open_sale(const ClientOptions& client) {
    auto sale = Sale::open(*backend_, orders_, {.client = client});
    if (!sale.ok()) fail(sale.status().ToString());
    return *std::move(sale);
  }

  MemoryOrderStore orders_{"bench"};
  std::unique_ptr<RedisBackend> backend_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<AdmissionRequests> requests_;
  std::unique_ptr<Sale> sale_;
  std::unique_ptr<Sale> fiber_sale_;
  std::int64_t next_user_ = 1;
};

/// Sends the same requests without Rushgate. Uses users and orders of its own.
class Bare {
 public:
  Bare(const testing::RedisServer& server, const SaleOnRedis& sale)
      : server_(server), sale_(sale), connection_(server.socket_path()) {
    const Request request = sale.request(1, 1);
    const std::size_t numbers_from = request.size() - 2;  // user and order
    for (std::size_t i = 0; i < request.size(); ++i) {
      command_.append(i < numbers_from ? fmt::format("'{}'", request[i]) : "__rand_int__");
      command_.append(" ");
    }
  }

  /// Selects the load with the highest rate.
  void try_loads(std::int64_t requests) {
    constexpr BenchmarkLoad kLoads[] = {{.connections = 50, .pipeline = 1},
                                        {.connections = 50, .pipeline = 16},
                                        {.connections = 50, .pipeline = 32},
                                        {.connections = 50, .pipeline = 128},
                                        {.connections = 8, .pipeline = 128}};
    double best = 0;
    for (const BenchmarkLoad& load : kLoads) {
      const double rate = rate_of(load, requests);
      if (rate <= best) continue;
      best = rate;
      load_ = load;
    }
  }
  double rate(std::int64_t count) { return rate_of(load_, count); }
  [[nodiscard]] std::string load() const {
    return fmt::format("redis-benchmark, {} connections, pipeline {}", load_.connections,
                       load_.pipeline);
  }

  void admit() {
    const std::int64_t number = next_number_++;
    connection_.append(sale_.request(user_id(number), number));
    if (connection_.next_integer() != 0) fail("hiredis: not accepted");
  }

 private:
  double rate_of(const BenchmarkLoad& load, std::int64_t count) {
    return rate_by_redis_benchmark(server_.socket_path(), load, count, command_);
  }

  const testing::RedisServer& server_;
  const SaleOnRedis& sale_;
  HiredisConnection connection_;
  std::string command_;
  BenchmarkLoad load_;
  std::int64_t next_number_ = std::int64_t{1} << 32;  // above all users of the sale
};

template <class Call>
double median_us(std::int64_t count, Call call) {
  std::vector<double> durations;
  durations.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const Stopwatch watch;
    call();
    durations.push_back(watch.seconds() * kMicroseconds);
  }
  return Samples::of(std::move(durations)).median();
}

struct ReplicatedServer {
  ReplicatedServer() { replica.replicate(primary); }

  testing::RedisServer primary{{.listens_on_tcp = true}};
  testing::RedisServer replica;
};

/// Compares purchases that a replica confirms with purchases that it does not.
void measure_confirmed(const Effort& effort, Report& report) {
  ReplicatedServer plain_server;
  ReplicatedServer confirming_server;
  SaleOnRedis plain(plain_server.primary);
  SaleOnRedis confirmed(confirming_server.primary, "?confirm_replicas=1");
  const auto comparison = [](const std::string& callers) {
    return Comparison{.line = "accepted on Redis, a replica confirms, " + callers + ": median",
                      .unit = "µs",
                      .better = Better::kLess,
                      .ours_is = "Sale::buy() with confirm_replicas=1",
                      .peer_is = "Sale::buy() without, on a server that also has a replica",
                      .target = 0.5};
  };
  Comparison one = comparison("one at a time");
  Comparison threads = comparison("8 threads");
  constexpr std::int64_t kCallsShare = 50;
  const std::int64_t count = effort.requests / kCallsShare;
  for (int round = 0; round < effort.rounds; ++round) {
    one.peer.add(median_us(count, [&] { plain.buy(); }));
    one.ours.add(median_us(count, [&] { confirmed.buy(); }));
    threads.peer.add(plain.median_us_of_threads(count));
    threads.ours.add(confirmed.median_us_of_threads(count));
  }
  report.add(std::move(one));
  report.add(std::move(threads));
}

}  // namespace

void measure_on_redis(const Effort& effort, Report& report) {
  testing::RedisServer server;
  SaleOnRedis ours(server);
  Bare bare(server, ours);
  bare.try_loads(effort.trial_requests());
  const auto comparison = [&](const std::string& callers) {
    return Comparison{.line = "accepted on Redis, " + callers,
                      .unit = "admissions/s",
                      .ours_is = "Sale::buy() on a RedisBackend, " + callers,
                      .peer_is = bare.load() + ", the same script on the same server",
                      .target = 0.8};
  };
  Comparison fibers = comparison("1,000 fibers on one thread");
  Comparison threads = comparison("8 threads");
  Comparison latency{.line = "accepted on Redis, one at a time: median",
                     .unit = "µs",
                     .better = Better::kLess,
                     .ours_is = "Sale::buy() on a RedisBackend",
                     .peer_is = "hiredis, one connection, the same script on the same server",
                     .target = 1 / 1.3};
  constexpr std::int64_t kShare = 5;
  constexpr std::int64_t kCallsShare = 10;
  const std::int64_t count = std::max<std::int64_t>(effort.requests / kShare, kFibers);
  for (int round = 0; round < effort.rounds; ++round) {
    fibers.ours.add(ours.rate_of_fibers(count));
    const double best_rate = bare.rate(count);
    threads.ours.add(ours.rate_of_threads(count));
    fibers.peer.add(best_rate);
    threads.peer.add(best_rate);
    latency.ours.add(median_us(count / kCallsShare, [&] { ours.buy(); }));
    latency.peer.add(median_us(count / kCallsShare, [&] { bare.admit(); }));
  }
  report.add(std::move(fibers));
  report.add(std::move(threads));
  report.add(std::move(latency));
  measure_confirmed(effort, report);
}

}  // namespace rushgate::bench
