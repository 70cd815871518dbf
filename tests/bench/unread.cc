// Clients that request much and read nothing: measures the memory of the server, and the wait of
// another client.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "adapters/resp/resp_encoder.h"
#include "tests/bench/lines.h"
#include "tests/bench/part_process.h"
#include "tests/bench/shop.h"
#include "tests/bench/stopwatch.h"
#include "tests/support/redis_server/raw_connection.h"
#include "tests/support/redis_server/redis_server.h"

namespace rushgate::bench {
namespace {

using testing::RawConnection;

constexpr std::int64_t kClientsMax = 200;
constexpr int kGets = 20;
constexpr std::size_t kValueBytes = 1'024 * 1'024;
constexpr std::chrono::seconds kPatience{120};

struct Cost {
  double peak_bytes = 0;    // above the memory before
  double longest_wait = 0;  // of the bystander, in seconds
};

/// Returns a field of /proc/<pid>/status in bytes.
double status_bytes(pid_t pid, std::string_view field) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  std::string word;
  while (status >> word && word != fmt::format("{}:", field)) continue;
  double kibi = 0;
  status >> kibi;
  return 1'024 * kibi;
}

Cost cost_of_unread_replies(const std::string& socket_path, pid_t pid, std::int64_t clients) {
  RawConnection bystander(socket_path);
  bystander.call(Request::of("SET", "k", std::string(kValueBytes, 'x')));
  bystander.call(Request::of("SET", "begun", 0));
  const double before = status_bytes(pid, "VmRSS");
  std::string sent;
  append_request(Request::of("INCR", "begun"), sent);
  for (int i = 0; i < kGets; ++i) append_request(Request::of("GET", "k"), sent);
  std::vector<std::unique_ptr<RawConnection>> lazy;
  for (std::int64_t i = 0; i < clients; ++i)
    lazy.push_back(std::make_unique<RawConnection>(socket_path));
  for (const auto& client : lazy) client->send_bytes(sent);
  Cost cost;
  const auto wait = [&](const Request& request) {
    const Stopwatch stopwatch;
    bystander.send(request);
    std::string reply = bystander.receive(kPatience);
    cost.longest_wait = std::max(cost.longest_wait, stopwatch.seconds());
    return reply;
  };
  const std::string all_begun = fmt::format(":{}\r\n", clients);
  while (wait(Request::of("INCRBY", "begun", 0)) != all_begun) continue;
  for (int i = 0; i < 100; ++i) wait(Request::of("INCR", "n"));
  cost.peak_bytes = status_bytes(pid, "VmHWM") - before;
  return cost;
}

}  // namespace

void measure_unread(const Effort& effort, Report& report) {
  const std::int64_t clients = std::min(kClientsMax, 1 + effort.requests / 2'000);
  Comparison memory{.line = "memory for replies that are not read",
                    .unit = "bytes",
                    .better = Better::kLess,
                    .ours_is = "RespServer, durability everysec",
                    .peer_is = fmt::format("redis-server; {} clients that send {} GETs of 1 MiB, "
                                           "most resident memory beyond that before",
                                           clients, kGets),
                    .target = 2};
  Comparison wait = memory;
  wait.line = "wait of another client for INCR, meanwhile";
  wait.unit = "s";
  wait.peer_is = "redis-server, the same load; the longest wait";
  for (int round = 0; round < effort.rounds; ++round) {
    {
      const ScratchDirectory scratch;
      const std::string socket_path = (scratch.path() / "socket").string();
      PartProcess ours("serve", {(scratch.path() / "keyspace").string(), socket_path});
      ours.numbers();  // it listens
      const Cost cost = cost_of_unread_replies(socket_path, ours.pid(), clients);
      memory.ours.add(cost.peak_bytes);
      wait.ours.add(cost.longest_wait);
    }
    const testing::RedisServer redis;
    const Cost cost = cost_of_unread_replies(redis.socket_path(), redis.pid(), clients);
    memory.peer.add(cost.peak_bytes);
    wait.peer.add(cost.longest_wait);
  }
  report.add(std::move(memory));
  report.add(std::move(wait));
}

}  // namespace rushgate::bench
