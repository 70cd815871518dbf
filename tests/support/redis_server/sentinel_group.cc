#include "tests/support/redis_server/sentinel_group.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "tests/support/redis_server/patience.h"
#include "tests/support/redis_server/raw_connection.h"

namespace rushgate::testing {
namespace {

/// Returns the value of a field in a flat list of names and values.
std::string value_of_field(const Reply& fields, std::string_view name) {
  const auto& all = fields.elements();
  for (std::size_t i = 0; i + 1 < all.size(); i += 2) {
    if (all[i].text() == name) return std::string(all[i + 1].text());
  }
  return {};
}

}  // namespace

Reply ask(const RedisServer& server, const Request& request) {
  return RawConnection(server.socket_path()).call(request);
}

std::int64_t info_number(const RedisServer& server, std::string_view field) {
  const std::string text(ask(server, Request::of("INFO")).text());
  const std::size_t at = text.find("\n" + std::string(field) + ":");
  return at == std::string::npos ? -1 : std::stoll(text.substr(at + field.size() + 2));
}

SentinelGroup::SentinelGroup(const SentinelGroupOptions& options) {
  for (std::size_t i = 0; i <= options.replicas; ++i) {
    servers_.push_back(std::make_unique<RedisServer>(
        RedisServerOptions{.arguments = options.arguments, .listens_on_tcp = true}));
    if (i > 0) servers_[i]->replicate(*servers_[0]);
  }
  for (std::size_t i = 0; i < options.sentinels; ++i) start_sentinel();
  for (std::size_t i = 0; i < options.sentinels; ++i) {
    wait_until("the sentinels do not find each other", [&] { return is_complete(i); });
  }
}

void SentinelGroup::start_sentinel() {
  const std::string name = std::string(" ") + kMaster + " ";
  sentinels_.push_back(std::make_unique<RedisServer>(RedisServerOptions{
      .listens_on_tcp = true,
      .sentinel = "sentinel monitor" + name + "127.0.0.1 " + std::to_string(servers_[0]->port()) +
                  " 2\nsentinel down-after-milliseconds" + name + "300\nsentinel failover-timeout" +
                  name + "1500\nsentinel parallel-syncs" + name + "2\n"}));
  // By default they talk to each other and look for replicas every few seconds. During a failover they
  // look at replicas once a second, whatever these periods are. So what they know of one must be valid
  // for longer (five PING-PERIODs), and so must a promotion that the others have not heard of (four
  // PUBLISH-PERIODs).
  const Reply faster =
      ask(*sentinels_.back(), Request::of("SENTINEL", "DEBUG", "INFO-PERIOD", 200, "PING-PERIOD",
                                          250, "ASK-PERIOD", 100, "PUBLISH-PERIOD", 400));
  if (faster != Reply::ok()) throw std::runtime_error("sentinel: " + to_debug_string(faster));
}

std::string SentinelGroup::url() const {
  std::string url = "redis-sentinel://";
  for (const auto& sentinel : sentinels_) {
    if (sentinel != sentinels_.front()) url += ',';
    url += "127.0.0.1:" + std::to_string(sentinel->port());
  }
  return url + '/' + kMaster;
}

RedisServer& SentinelGroup::master(std::size_t index) {
  const Reply address =
      ask(*sentinels_[index], Request::of("SENTINEL", "GET-MASTER-ADDR-BY-NAME", kMaster));
  const auto is_there = [&](const auto& server) {
    return address.elements().size() == 2 &&
           address.elements()[1].text() == std::to_string(server->port());
  };
  const auto found = std::find_if(servers_.begin(), servers_.end(), is_there);
  if (found == servers_.end()) {
    throw std::runtime_error("the sentinel names no server: " + to_debug_string(address));
  }
  return **found;
}

void SentinelGroup::wait_for_other_master(const RedisServer& old, std::size_t index) {
  wait_until("there is no new master", [&] { return &master(index) != &old; });
}

void SentinelGroup::fail_over() {
  const RedisServer& old = master();
  wait_until("there is no failover", [&] {
    if (&master() != &old) return true;
    ask(*sentinels_[0],
        Request::of("SENTINEL", "FAILOVER", kMaster));  // refused during another one
    return false;
  });
}

void SentinelGroup::heal() {
  for (auto* const all : {&servers_, &sentinels_}) {
    for (const auto& each : *all) {
      if (!each->is_running()) each->restart();
    }
  }
  wait_until("the servers do not become one group", [&] { return is_healed(); });
}

bool SentinelGroup::is_complete(std::size_t sentinel) {
  const Reply fields = ask(*sentinels_[sentinel], Request::of("SENTINEL", "MASTER", kMaster));
  return value_of_field(fields, "num-slaves") == std::to_string(servers_.size() - 1) &&
         value_of_field(fields, "num-other-sentinels") == std::to_string(sentinels_.size() - 1);
}

bool SentinelGroup::is_healed() {
  const RedisServer& only = master();
  for (std::size_t i = 0; i < sentinels_.size(); ++i) {
    if (&master(i) != &only || !is_complete(i)) return false;
  }
  return std::all_of(servers_.begin(), servers_.end(), [&](const auto& server) {
    const std::string text(ask(*server, Request::of("INFO", "replication")).text());
    if (server.get() == &only) return text.find("role:master") != std::string::npos;
    return text.find("master_port:" + std::to_string(only.port())) != std::string::npos &&
           text.find("master_link_status:up") != std::string::npos;
  });
}

void SentinelGroup::wait_until(const std::string& what, const std::function<bool()>& is_done) {
  wait_or_throw("sentinels: " + what, is_done);
}

}  // namespace rushgate::testing
