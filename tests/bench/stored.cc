// Measures accepted requests until the last order is in the database, with concurrent workers.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "engine/sale/model/order_entry.h"
#include "tests/bench/lines.h"
#include "tests/bench/load.h"
#include "tests/bench/order_database.h"
#include "tests/bench/order_workers.h"
#include "tests/bench/redis_peer.h"
#include "tests/bench/seckill_script.h"
#include "tests/bench/shop.h"
#include "tests/bench/stopwatch.h"
#include <rushgate/order_worker.h>
#include <rushgate/redis_backend.h>

namespace rushgate::bench {
namespace {

constexpr std::int64_t kPeerAdmissionShare =
    4;                                       // the peer's admissions get a quarter of our requests
constexpr std::int64_t kConsumerShare = 20;  // and a twentieth with its consumer

/// Measures ours: admission in batches, storing by two worker threads.
double stored_rate(std::int64_t count) {
  Shop shop(Durability::kOs, open_orders_in);
  OrderWorkers workers(shop.engine(), shop.orders(), 2, {});
  const Stopwatch watch;
  shop.rate_in_batches(count, kBatch);
  workers.wait_until_stored(count);
  return static_cast<double>(count) / watch.seconds();
}

// ---- The classic consumer ----

/// Reads an order, stores it in one transaction, and acknowledges it.
class ClassicConsumer {
 public:
  ClassicConsumer(const testing::RedisServer& server, const std::filesystem::path& file)
      : backend_(connect(server)), client_(backend_->open_client()), orders_(file) {
    expect_ok((*client_)("XGROUP", "CREATE", kOrderStream, kGroup, "0", "MKSTREAM"));
  }

  /// Runs until no more orders come after `admitted` is true. Returns the number of stored orders.
  std::int64_t run(const std::atomic<bool>& admitted) {
    std::int64_t stored = 0;
    while (true) {
      const bool was_last = admitted;
      const Reply reply = (*client_)("XREADGROUP", "GROUP", kGroup, "c1", "COUNT", 1, "BLOCK", 20,
                                     "STREAMS", kOrderStream, ">");
      if (reply.is_nil()) {
        if (was_last) return stored;
        continue;
      }
      expect_ok(reply);
      store(reply.elements()[0].elements()[1].elements()[0]);
      ++stored;
    }
  }

 private:
  static constexpr const char* kGroup = "g1";

  static std::unique_ptr<RedisBackend> connect(const testing::RedisServer& server) {
    auto backend = RedisBackend::open(*RedisOptions::from_url(server.url()));
    if (!backend.ok()) fail(backend.status().ToString());
    return *std::move(backend);
  }

  static void expect_ok(const Reply& reply) {
    if (reply.is_error()) fail("redis-server: " + reply.text());
  }

  void store(const Reply& read) {
    const auto entry = read_entry(read);
    const auto number = [&](const char* field) {  // redis-benchmark writes leading zeros
      return std::stoll(std::string(entry.value().field(field).value()));
    };
    const Order order = {.id = number("id"),
                         .user = number("userId"),
                         .voucher = number("voucherId"),
                         .entry = StreamId::parse(entry->id).value()};
    orders_.insert({&order, 1});
    expect_ok((*client_)("XACK", kOrderStream, kGroup, entry->id));
  }

  const std::unique_ptr<RedisBackend> backend_;
  const std::unique_ptr<Client> client_;
  BareOrders orders_;
};

double classic_rate(RedisPeer& redis, std::int64_t count) {
  redis.prepare(Workload::kAccepted);
  const ScratchDirectory directory;
  ClassicConsumer consumer(redis.server(), directory.path() / "orders.db");
  std::atomic<bool> admitted = false;
  const Stopwatch watch;
  std::thread load([&] {
    redis.rate(Workload::kAccepted, count);
    admitted = true;
  });
  const std::int64_t stored = consumer.run(admitted);
  const double seconds = watch.seconds();
  load.join();
  return static_cast<double>(stored) / seconds;
}

}  // namespace

void measure_stored(const Effort& effort, Report& report) {
  const std::int64_t count = std::max<std::int64_t>(effort.requests / kBatch, 1) * kBatch;
  RedisPeer redis(PeerDurability::kEverySec);
  redis.prepare(Workload::kAccepted);
  redis.try_loads(Workload::kAccepted, effort.trial_requests());
  const std::string ours_is = "native script and two order workers, durability os";
  Comparison classic{.line = "accepted and stored in SQLite",
                     .unit = "orders/s",
                     .ours_is = ours_is,
                     .peer_is = "redis-server, everysec, a consumer with COUNT 1",
                     .target = 2};
  Comparison admission{.line = "accepted and stored in SQLite, compared with admission alone",
                       .unit = "orders/s",
                       .ours_is = ours_is,
                       .peer_is = "redis-server, everysec, nothing stored, " + redis.load(),
                       .target = 2};
  for (int round = 0; round < effort.rounds; ++round) {
    const double ours = stored_rate(count);
    classic.ours.add(ours);
    admission.ours.add(ours);
    classic.peer.add(classic_rate(redis, count / kConsumerShare));
    redis.prepare(Workload::kAccepted);
    admission.peer.add(redis.rate(Workload::kAccepted, count / kPeerAdmissionShare));
  }
  report.add(std::move(classic));
  report.add(std::move(admission));
}

}  // namespace rushgate::bench
