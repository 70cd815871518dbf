#include "tests/support/redis_server/redis_cluster.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <stdexcept>
#include <utility>

#include "engine/core/client/key_slot.h"
#include "tests/support/redis_server/patience.h"
#include "tests/support/redis_server/raw_connection.h"
#include "tests/support/redis_server/sentinel_group.h"
#include <rushgate/clock.h>

namespace rushgate::testing {
namespace {

constexpr std::int64_t kLastsForeverMs = 1'000'000'000'000;

void must(const RedisServer& server, const Request& request) {
  const Reply reply = ask(server, request);
  if (!reply.is_error()) return;
  throw std::runtime_error("cluster: " + std::string(request[1]) + ": " + to_debug_string(reply));
}

/// Returns the text of CLUSTER SLOTS without the ids' metadata: who serves what.
std::string view_of(const RedisServer& node) {
  Reply slots = ask(node, Request::of("CLUSTER", "SLOTS"));
  auto& ranges = slots.mutable_elements();
  std::ranges::sort(ranges, {}, [](const Reply& range) { return range.elements()[0].integer(); });
  std::string text;
  for (const Reply& range : ranges) {
    text += to_debug_string(range.elements()[0]) + "-" + to_debug_string(range.elements()[1]) +
            " " + to_debug_string(range.elements()[2].elements()[1]) + ";";
  }
  return text;
}

}  // namespace

RedisCluster::RedisCluster(const RedisClusterOptions& options) {
  if (options.manual_clock) running_ms_ = ManualClock::kStartMs;
  std::vector<std::string> buses = start(options);
  const auto masters = static_cast<int>(options.masters);
  for (int i = 0; i < masters; ++i) {
    RedisServer& master = node(static_cast<std::size_t>(i));
    must(master, Request::of("CLUSTER", "ADDSLOTSRANGE", kSlots * i / masters,
                             kSlots * (i + 1) / masters - 1));
    must(master, Request::of("CLUSTER", "SET-CONFIG-EPOCH", i + 1));
  }
  for (std::size_t i = 1; i < nodes_.size(); ++i) {  // all pairs: gossip would take a while
    for (std::size_t known = 0; known < i; ++known) {
      must(node(known), Request::of("CLUSTER", "MEET", "127.0.0.1", node(i).port(), buses[i]));
    }
  }
  wait_until("the nodes do not find each other", [&] {
    return std::ranges::all_of(nodes_, [&](const auto& each) {
      const std::string known = ask(*each, Request::of("CLUSTER", "NODES")).text();
      return std::ranges::count(known, '\n') == static_cast<std::ptrdiff_t>(nodes_.size()) &&
             known.find("handshake") == std::string::npos;
    });
  });
  for (std::size_t i = options.masters; i < nodes_.size(); ++i) {
    must(node(i),
         Request::of("CLUSTER", "REPLICATE", id(node((i - options.masters) % options.masters))));
  }
  heal();
  if (std::exchange(running_ms_, 0) != 0) set_now_ms(ManualClock::kStartMs);
}

/// Returns the ports of the nodes' bus.
std::vector<std::string> RedisCluster::start(const RedisClusterOptions& options) {
  std::vector<std::string> buses;
  for (std::size_t i = 0; i < options.masters * (1 + options.replicas); ++i) {
    const std::string& bus = buses.emplace_back(std::to_string(find_free_port()));
    std::vector<std::string> arguments = {
        "--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-node-timeout",
        std::to_string(options.manual_clock ? kLastsForeverMs : kNodeTimeoutMs),
        "--cluster-replica-validity-factor", "0", "--cluster-require-full-coverage", "no",
        "--cluster-allow-replica-migration", "no", "--repl-diskless-sync-delay", "0",
        // A node that restarts is empty, although it was a replica.
        "--rdb-del-sync-files", "yes", "--repl-ping-replica-period", "1"};
    arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
    nodes_.push_back(
        std::make_unique<RedisServer>(RedisServerOptions{.arguments = std::move(arguments),
                                                         .listens_on_tcp = true,
                                                         .manual_clock = options.manual_clock,
                                                         .is_random = true}));
  }
  return buses;
}

std::string RedisCluster::url() const {
  std::string url = "redis-cluster://";
  for (const auto& each : nodes_) {
    if (each != nodes_.front()) url += ',';
    url += "127.0.0.1:" + std::to_string(each->port());
  }
  return url;
}

std::string RedisCluster::id(const RedisServer& node) {
  return ask(node, Request::of("CLUSTER", "MYID")).text();
}

RedisServer& RedisCluster::owner(int slot, std::size_t index) {
  const Reply slots = ask(node(index), Request::of("CLUSTER", "SLOTS"));
  for (const Reply& range : slots.elements()) {
    if (slot < range.elements()[0].integer() || slot > range.elements()[1].integer()) continue;
    const std::int64_t port = range.elements()[2].elements()[1].integer();
    const auto found =
        std::ranges::find_if(nodes_, [&](const auto& each) { return each->port() == port; });
    if (found != nodes_.end()) return **found;
  }
  throw std::runtime_error("cluster: slot " + std::to_string(slot) + " has no master");
}

RedisServer& RedisCluster::owner_of(const std::string& key, std::size_t index) {
  return owner(key_slot(key), index);
}

RedisServer& RedisCluster::master_beside(const RedisServer& other) {
  for (int slot = 0; slot < kSlots; slot += kSlots / 16) {
    if (&owner(slot) != &other) return owner(slot);
  }
  throw std::runtime_error("cluster: there is one master alone");
}

void RedisCluster::wait_for_other_owner(int slot, const RedisServer& old) {
  wait_until("the slot has no new master", [&] {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].get() != &old && &owner(slot, i) == &old) return false;
    }
    return true;
  });
}

RedisServer& RedisCluster::replica_of(const RedisServer& master) {
  for (const auto& each : nodes_) {
    if (!each->is_running()) continue;
    const std::string role = ask(*each, Request::of("INFO", "replication")).text();
    if (role.find("master_port:" + std::to_string(master.port())) != std::string::npos) {
      return *each;
    }
  }
  throw std::runtime_error("cluster: the master has no replica");
}

void RedisCluster::fail_over(RedisServer& master) {
  RedisServer& successor = replica_of(master);
  // The other masters vote once for a while. A failover that misses their votes is asked for again.
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kPatience{2};
  auto next_attempt = Clock::now();
  wait_until("there is no failover", [&] {
    if (ask(successor, Request::of("ROLE")).elements()[0].text() == "master") return true;
    if (Clock::now() < next_attempt) return false;
    next_attempt = Clock::now() + kPatience;
    ask(successor, Request::of("CLUSTER", "FAILOVER"));  // refused during another one
    return false;
  });
  heal();
}

void RedisCluster::begin_move(int slot, RedisServer& from, RedisServer& to) {
  must(to, Request::of("CLUSTER", "SETSLOT", slot, "IMPORTING", id(from)));
  must(from, Request::of("CLUSTER", "SETSLOT", slot, "MIGRATING", id(to)));
}

void RedisCluster::end_move(int slot, RedisServer& from, RedisServer& to) {
  while (true) {
    const Reply keys = ask(from, Request::of("CLUSTER", "GETKEYSINSLOT", slot, 100));
    if (keys.elements().empty()) break;
    for (const Reply& key : keys.elements()) {
      must(from, Request::of("MIGRATE", "127.0.0.1", to.port(), key.text(), 0, 5'000));
    }
  }
  const std::string owner = id(to);
  must(to, Request::of("CLUSTER", "SETSLOT", slot, "NODE", owner));
  must(from, Request::of("CLUSTER", "SETSLOT", slot, "NODE", owner));
  heal();
}

bool RedisCluster::is_whole() {
  std::set<std::string> views;
  for (const auto& each : nodes_) {
    const std::string info = ask(*each, Request::of("CLUSTER", "INFO")).text();
    if (info.find("cluster_state:ok") == std::string::npos) return false;
    if (info.find("cluster_slots_ok:16384") == std::string::npos) return false;
    views.insert(view_of(*each));
    const std::string role = ask(*each, Request::of("INFO", "replication")).text();
    if (role.find("role:slave") != std::string::npos &&
        role.find("master_link_status:up") == std::string::npos) {
      return false;
    }
  }
  return views.size() == 1;
}

void RedisCluster::heal() {
  for (const auto& each : nodes_) {
    if (!each->is_running()) each->restart();
  }
  wait_until("the nodes do not agree on the slots", [&] { return is_whole(); });
}

void RedisCluster::flush_all() {
  for (const auto& each : nodes_) {
    if (ask(*each, Request::of("ROLE")).elements()[0].text() == "master") {
      must(*each, Request::of("FLUSHALL", "SYNC"));
    }
  }
}

void RedisCluster::set_now_ms(std::int64_t now_ms) {
  for (const auto& each : nodes_) each->set_now_ms(now_ms);
}

void RedisCluster::wait_until(const std::string& what, const std::function<bool()>& is_done) {
  constexpr std::int64_t kTickMs = 20;
  wait_or_throw("cluster: " + what, [&] {
    if (running_ms_ != 0) set_now_ms(running_ms_ += kTickMs);
    return is_done();
  });
}

}  // namespace rushgate::testing
