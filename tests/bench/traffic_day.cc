// Sends a day's traffic to an engine with a store on disk, while a manual clock moves through the
// day: keys are created, expire and are deleted all the time. Shows that memory and disk stay where
// they were after the first hour:
//   traffic_day [commands]     (100 million)
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/core/base/time_units.h"
#include "tests/bench/part_process.h"
#include "tests/bench/shop.h"
#include "tests/bench/stopwatch.h"
#include <rushgate/clock.h>

namespace rushgate::bench {
namespace {

constexpr std::int64_t kHours = 24;

/// One visit of a shop's user: requests on keys of every type. Most keys are new, and expire after
/// a minute to an hour. The others are shared by all visits, and are trimmed.
void add_visit(std::int64_t visit, std::vector<Request>& requests) {
  constexpr std::int64_t kSessionS = 1'800;
  constexpr std::int64_t kCacheS = 300;
  constexpr std::int64_t kCounterS = 60;
  constexpr int kCarts = 1'000;
  const std::string id = std::to_string(visit);
  const std::string cart = "cart:" + std::to_string(visit % kCarts);
  const auto add = [&requests](const auto&... words) { requests.push_back(Request::of(words...)); };

  add("HSET", "session:" + id, "user", id, "page", "/item/" + id, "agent", std::string(60, 'a'));
  add("EXPIRE", "session:" + id, kSessionS);
  add("SET", "cache:" + id, std::string(static_cast<std::size_t>(visit % 400), 'c'), "EX", kCacheS);
  add("GET", "cache:" + id);
  add("INCR", "hits:" + id);
  add("PEXPIRE", "hits:" + id, 1'000 * kCounterS + visit % 1'000);
  add("SADD", "seen:" + id, 1, 2, "three");
  add("DEL", "seen:" + id);
  add("LPUSH", "jobs", id);
  add("RPOP", "jobs");
  add("ZADD", "recent", visit, id);
  add("ZREMRANGEBYRANK", "recent", 0, -1'001);
  add("XADD", "events", "MAXLEN", "~", 10'000, "*", "user", id, "kind", "visit");
  add("RPUSH", cart, id, "item");
  add("LTRIM", cart, -20, -1);
  add("SET", "lock:" + id, "token", "NX", "PX", 3'000);
  add("DEL", "lock:" + id);
  add("SADD", "online", id);
  add("SREM", "online", std::to_string(visit - 5'000));
  add("HDEL", "session:" + id, "agent");
}

class Day {
 public:
  explicit Day(std::int64_t commands)
      : commands_(commands),
        engine_(open(scratch_.path() / "keyspace")),
        client_(engine_->open_client()) {}

  void run() {
    const Stopwatch watch;
    std::vector<Request> requests;
    std::int64_t sent = 0;
    std::int64_t passed_ms = 0;
    for (std::int64_t hour = 1; hour <= kHours; ++hour) {
      while (sent < commands_ * hour / kHours) {
        requests.clear();
        for (int i = 0; i < kVisitsPerBatch; ++i) add_visit(++visits_, requests);
        for (const Reply& reply : client_->pipeline(requests)) {
          if (reply.is_error()) fail(reply.text());
        }
        sent += static_cast<std::int64_t>(requests.size());
        const std::int64_t now_ms = sent * kDayMs / commands_;
        engine_->advance_ms(now_ms - passed_ms);
        passed_ms = now_ms;
      }
      show(hour, sent, watch.seconds());
    }
    engine_->advance_ms(kDayMs);
    std::puts("a day later, without requests:");
    show(2 * kHours, sent, watch.seconds());
  }

 private:
  static constexpr int kVisitsPerBatch = 16;

  std::unique_ptr<Engine> open(const std::filesystem::path& dir) {
    auto engine = Engine::open(open_store(Durability::kOs, dir), {.manual_clock = &clock_});
    if (!engine.ok()) fail(engine.status().ToString());
    return *std::move(engine);
  }

  void show(std::int64_t hour, std::int64_t sent, double seconds) {
    constexpr double kMiB = 1024.0 * 1024.0;
    const std::string info(client_->call(Request::of("INFO", "memory")).text());
    const std::string field = "used_memory:";
    const double used = std::stod(info.substr(info.find(field) + field.size()));
    const ProcessMemory memory = process_memory();
    std::printf(
        "hour %2lld  %6.1f million commands, %6.1f s  %7lld keys, %6.1f MiB used, %6.1f MiB "
        "allocated, %6.1f MiB resident, %6.1f MiB on disk\n",
        static_cast<long long>(hour), static_cast<double>(sent) / 1e6, seconds,
        static_cast<long long>(client_->call(Request::of("DBSIZE")).integer()), used / kMiB,
        memory.allocated / kMiB, memory.resident / kMiB, directory_bytes(scratch_.path()) / kMiB);
    std::fflush(stdout);
  }

  const std::int64_t commands_;
  const ScratchDirectory scratch_;
  ManualClock clock_;
  const std::unique_ptr<Engine> engine_;
  const std::unique_ptr<Client> client_;
  std::int64_t visits_ = 0;
};

}  // namespace
}  // namespace rushgate::bench

int main(int argc, char** argv) {
  constexpr std::int64_t kCommands = 100'000'000;
  rushgate::bench::Day(argc > 1 ? std::atoll(argv[1]) : kCommands).run();
}
