// Measures memory per buyer, memory per order in the stream, memory per small key of each type, and
// disk space per admission.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tests/bench/lines.h"
#include "tests/bench/part_process.h"
#include "tests/bench/redis_peer.h"
#include "tests/bench/seckill_script.h"
#include "tests/bench/shop.h"
#include "tests/bench/users.h"

namespace rushgate::bench {
namespace {

constexpr std::int64_t kAtOnce = 1'000;  // members per command, entries per pipeline

/// Adds buyers from `first` to before `end` to a set.
void add_buyers(Client& client, std::int64_t first, std::int64_t end) {
  while (first < end) {
    Request request = Request::of("SADD", kBuyersKey);
    const std::int64_t next = std::min(first + kAtOnce, end);
    const std::int64_t added = next - first;
    for (; first < next; ++first) request.add(user_id(first));
    const Reply reply = client.call(request);
    if (reply != Reply::integer(added)) fail("SADD: " + to_debug_string(reply));
  }
}

/// Adds orders as the seckill script does.
void add_entries(Client& client, std::int64_t count) {
  constexpr std::int64_t kFirstOrder = std::int64_t{100'000'000} << 32;
  for (std::int64_t done = 0; done < count;) {
    std::vector<Request> requests;
    requests.reserve(kAtOnce);
    for (const std::int64_t end = std::min(done + kAtOnce, count); done < end; ++done) {
      requests.push_back(Request::of("XADD", kOrderStream, "*", "userId", user_id(done),
                                     "voucherId", kVoucher, "id", kFirstOrder + done));
    }
    for (const Reply& reply : client.pipeline(requests)) {
      if (reply.is_error()) fail("XADD: " + reply.text());
    }
  }
}

/// The smallest value of a type.
struct SmallValue {
  std::string_view name;
  std::vector<Request> (*requests)(const std::string& key, std::int64_t number);
  std::string_view shown;
};

std::span<const SmallValue> small_values() {
  using Requests = std::vector<Request>;
  static constexpr SmallValue kValues[] = {
      {"string",
       [](const std::string& key, std::int64_t) -> Requests {
         return {Request::of("SET", key, "a short text")};
       },
       "SET key 'a short text'"},
      {"number",
       [](const std::string& key, std::int64_t number) -> Requests {
         return {Request::of("SET", key, number)};
       },
       "SET key of a number"},
      {"expiring string",
       [](const std::string& key, std::int64_t) -> Requests {
         return {Request::of("SET", key, "a short text", "EX", 86'400)};
       },
       "SET key 'a short text' EX 86400"},
      {"hash",
       [](const std::string& key, std::int64_t) -> Requests {
         return {Request::of("HSET", key, "field", "value")};
       },
       "HSET key field value"},
      {"set of a number",
       [](const std::string& key, std::int64_t number) -> Requests {
         return {Request::of("SADD", key, number)};
       },
       "SADD key of a number"},
      {"set of a string",
       [](const std::string& key, std::int64_t) -> Requests {
         return {Request::of("SADD", key, "member")};
       },
       "SADD key member"},
      {"list",
       [](const std::string& key, std::int64_t) -> Requests {
         return {Request::of("RPUSH", key, "element")};
       },
       "RPUSH key element"},
      {"sorted set",
       [](const std::string& key, std::int64_t) -> Requests {
         return {Request::of("ZADD", key, 1, "member")};
       },
       "ZADD key 1 member"},
      {"empty stream",
       [](const std::string& key, std::int64_t) -> Requests {
         return {Request::of("XGROUP", "CREATE", key, "group", "$", "MKSTREAM"),
                 Request::of("XGROUP", "DESTROY", key, "group")};
       },
       "XGROUP CREATE key group $ MKSTREAM, XGROUP DESTROY key group"},
  };
  return kValues;
}

/// Adds `count` keys with this value.
void add_keys(Client& client, const SmallValue& value, std::int64_t count) {
  constexpr std::int64_t kFirst = 100'000'000;  // all numbers have as many digits
  for (std::int64_t done = 0; done < count;) {
    std::vector<Request> requests;
    for (const std::int64_t end = std::min(done + kAtOnce, count); done < end; ++done) {
      const std::int64_t number = kFirst + done;
      std::ranges::move(value.requests(fmt::format("key:{}", number), number),
                        std::back_inserter(requests));
    }
    for (const Reply& reply : client.pipeline(requests)) {
      if (reply.is_error()) fail(fmt::format("{}: {}", value.shown, reply.text()));
    }
  }
}

/// Returns numbers in ascending order. They are spread over the last doubling, because hash tables
/// grow by doubling.
std::vector<std::int64_t> numbers_of_buyers(const Effort& effort) {
  std::vector<std::int64_t> numbers;
  for (int i = effort.rounds - 1; i >= 0; --i) {
    const double share = std::exp2(-static_cast<double>(i) / effort.rounds);
    numbers.push_back(static_cast<std::int64_t>(static_cast<double>(effort.buyers) * share));
  }
  return numbers;
}

void compare_buyers(const Effort& effort, Report& report) {
  Comparison comparison{.line = "a buyer in memory",
                        .unit = "bytes",
                        .better = Better::kLess,
                        .ours_is = "resident growth of a process, set of user ids",
                        .peer_is = "used_memory of redis-server, the same set",
                        .target = 1 / 0.3};
  const std::vector<std::int64_t> numbers = numbers_of_buyers(effort);
  std::vector<std::string> arguments;
  arguments.reserve(numbers.size());
  for (const std::int64_t number : numbers) arguments.push_back(std::to_string(number));
  PartProcess ours("hold-buyers", arguments);
  RedisPeer redis(PeerDurability::kNone);
  const double empty = redis.info("used_memory");
  std::int64_t added = 0;
  double allocated = 0;
  for (const std::int64_t number : numbers) {
    const auto buyers = static_cast<double>(number);
    const std::vector<double> grown = ours.numbers();
    comparison.ours.add(grown[0] / buyers);
    allocated = grown[1] / buyers;
    add_buyers(redis.client(), std::exchange(added, number), number);
    comparison.peer.add((redis.info("used_memory") - empty) / buyers);
  }
  comparison.note =
      fmt::format("{} to {} buyers; at the last, our allocator counts {} bytes",
                  short_number(static_cast<double>(numbers.front())),
                  short_number(static_cast<double>(numbers.back())), short_number(allocated));
  report.add(std::move(comparison));
}

void compare_entries(const Effort& effort, Report& report) {
  const auto count = static_cast<double>(effort.buyers);
  const ScratchDirectory scratch;
  const std::vector<double> grown =
      first_numbers("hold-entries", {scratch.path().string(), std::to_string(effort.buyers)});
  RedisPeer redis(PeerDurability::kNone);
  const double empty = redis.info("used_memory");
  add_entries(redis.client(), effort.buyers);
  report.add(Comparison{
      .line = "an entry of the order stream in memory",
      .unit = "bytes",
      .better = Better::kLess,
      .ours_is = "resident growth of a process, durability os",
      .peer_is = "used_memory of redis-server, the same stream",
      .ours = Samples::of({grown[0] / count}),
      .peer = Samples::of({(redis.info("used_memory") - empty) / count}),
      .target = 1 / 0.1,
      .note = fmt::format("{} entries; ours took {} MB, which is bounded: the end of the stream, "
                          "and RocksDB's buffers",
                          short_number(count), short_number(grown[0] / 1e6))});
}

void compare_keys(const Effort& effort, Report& report) {
  const std::int64_t count = std::max(effort.buyers / 10, std::int64_t{1});
  const auto keys = static_cast<double>(count);
  for (const SmallValue& value : small_values()) {
    const std::vector<double> grown =
        first_numbers("hold-keys", {std::string(value.name), std::to_string(count)});
    RedisPeer redis(PeerDurability::kNone);
    const double empty = redis.info("used_memory");
    add_keys(redis.client(), value, count);
    report.add(Comparison{.line = fmt::format("a key of 13 bytes in memory, {}", value.name),
                          .unit = "bytes",
                          .better = Better::kLess,
                          .ours_is = fmt::format("resident growth of a process, {}", value.shown),
                          .peer_is = "used_memory of redis-server, the same keys",
                          .ours = Samples::of({grown[0] / keys}),
                          .peer = Samples::of({(redis.info("used_memory") - empty) / keys}),
                          .note = fmt::format("{} keys; our allocator counts {} bytes",
                                              short_number(keys), short_number(grown[1] / keys))});
  }
}

void compare_disk(const Effort& effort, Report& report) {
  const std::int64_t count = std::max(effort.buyers / 5, std::int64_t{1});
  const ScratchDirectory scratch;
  const std::vector<double> grown = first_numbers(
      "sell", {scratch.path().string(), std::to_string(count), std::to_string(kAtOnce)});
  RedisPeer redis(PeerDurability::kEverySec, RedisPeer::Rewrites::kByDefault);
  redis.prepare(Workload::kAccepted);
  redis.sell(count);
  const auto admissions = static_cast<double>(count);
  report.add(Comparison{
      .line = "an admission on the disk",
      .unit = "bytes",
      .better = Better::kLess,
      .ours_is = "all files of the store, log included, durability os",
      .peer_is = "append-only files of redis-server",
      .ours = Samples::of({directory_bytes(scratch.path()) / admissions}),
      .peer = Samples::of({redis.info("aof_current_size") / admissions}),
      .note = fmt::format("{} admissions; {}", short_number(admissions), redis.rewrites())});
  report.add(Figure{.line = "an admission in memory, buyer and order, durability os",
                    .unit = "bytes",
                    .value = grown[0] / admissions,
                    .note = fmt::format("resident growth of a process, RocksDB's buffers included, "
                                        "over {} admissions",
                                        short_number(admissions))});
}

}  // namespace

void hold_buyers(std::span<const std::string> arguments) {
  Shop shop(Durability::kMemory);
  const ProcessMemory before = process_memory();
  std::int64_t added = 0;
  for (const std::string& argument : arguments) {
    const std::int64_t number = std::stoll(argument);
    add_buyers(shop.client(), std::exchange(added, number), number);
    const ProcessMemory after = process_memory();
    say({after.resident - before.resident, after.allocated - before.allocated});
  }
  wait_for_the_end();
}

void hold_entries(std::span<const std::string> arguments) {
  Shop shop(Durability::kOs, arguments[0]);
  const ProcessMemory before = process_memory();
  add_entries(shop.client(), std::stoll(arguments[1]));
  say({process_memory().resident - before.resident});
  wait_for_the_end();
}

void hold_keys(std::span<const std::string> arguments) {
  const auto value = std::ranges::find(small_values(), arguments[0], &SmallValue::name);
  Shop shop(Durability::kMemory);
  const ProcessMemory before = process_memory();
  add_keys(shop.client(), *value, std::stoll(arguments[1]));
  const ProcessMemory after = process_memory();
  say({after.resident - before.resident, after.allocated - before.allocated});
  wait_for_the_end();
}

void measure_memory(const Effort& effort, Report& report) {
  compare_buyers(effort, report);
  compare_entries(effort, report);
  compare_keys(effort, report);
  compare_disk(effort, report);
}

}  // namespace rushgate::bench
