#include "adapters/redis/cluster_servers.h"

#include <algorithm>
#include <future>
#include <utility>

#include <boost/asio/post.hpp>

#include "adapters/redis/cluster_session.h"
#include "adapters/redis/replica_wait.h"
#include "adapters/redis/text.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/redis_error_code.h"

namespace rushgate {
namespace {

// A node that is no master any more is destroyed after this time: nothing uses it by then.
constexpr std::int64_t kKeptMs = 60'000;

/// Returns the options of the connections to one node.
RedisOptions options_of_node(RedisOptions options, const RedisAddress& address) {
  options.cluster.addresses.clear();
  options.host = address.host;
  options.port = address.port;
  return options;
}

}  // namespace

// ---- Opening and closing ------------------------------------------------------------------------

ClusterServers::ClusterServers(std::shared_ptr<RedisRuntime> runtime)
    : runtime_(std::move(runtime)),
      finder_(*runtime_, [this](const ClusterMap& map) { accept(map); }),
      pauses_(std::make_shared<Pauses>(runtime_->clock(), runtime_->io())) {}

ClusterServers::~ClusterServers() = default;

absl::Status ClusterServers::start() {
  std::promise<absl::Status> found;
  boost::asio::post(runtime_->io(), [&] {
    finder_.find(true, [&](const absl::Status& status) { found.set_value(status); });
  });
  RETURN_IF_ERROR(found.get_future().get());
  std::vector<std::shared_future<absl::Status>> masters;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& master : map_.masters()) masters.push_back(node_of(master).connected);
  }
  // A master that is down must not keep the others from being used.
  absl::Status failed;
  bool any_usable = false;
  for (const auto& connected : masters) {
    const absl::Status& status = connected.get();
    if (!status.ok() && !absl::IsUnavailable(status)) return status;
    any_usable = any_usable || status.ok();
    failed.Update(status);
  }
  return any_usable ? absl::OkStatus() : failed;
}

void ClusterServers::close() {
  std::vector<std::shared_ptr<RedisCore>> cores;
  std::vector<absl::AnyInvocable<void()>> refreshing;
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    for (const auto& [address, node] : nodes_) cores.push_back(node.core);
    std::swap(refreshing, refreshing_);
  }
  finder_.close();
  for (const auto& core : cores) core->close(kClosedText);
  for (auto& then : refreshing) then();
  for (auto& action : pauses_->close()) action();
}

void ClusterServers::join_checks() {
  for (const auto& [address, node] : nodes_) node.core->join_checks();
  for (const Retired& retired : retired_) retired.core->join_checks();
}

std::shared_ptr<ClientSession> ClusterServers::open_session(const ClientOptions& options) {
  return std::make_shared<ClusterSession>(shared_from_this(), options);
}

absl::Status ClusterServers::health() {
  {
    const std::lock_guard lock(mutex_);
    if (!map_problem_.empty()) return absl::UnavailableError(map_problem_);
  }
  for (const auto& master : masters()) {
    if (const auto reason = master->shared().unusable_reason()) {
      return absl::UnavailableError(*reason);
    }
  }
  return absl::OkStatus();
}

// ---- The map ------------------------------------------------------------------------------------

void ClusterServers::accept(const ClusterMap& map) {
  std::vector<std::shared_ptr<RedisCore>> retired;
  {
    const std::lock_guard lock(mutex_);
    map_ = map;
    is_contradicted_ = false;
    map_problem_ = map.uncovered() == 0
                       ? ""
                       : concat(map.uncovered(),
                                " slots of the cluster have no master: ", map.uncovered_text());
    retired = retire_all_but(map);
    for (const ClusterMap::Master& master : map.masters()) static_cast<void>(node_of(master));
    std::erase_if(retired_, [&](const Retired& each) {
      return each.since_ms + kKeptMs < runtime_->now_ms() && each.core.use_count() == 1 &&
             each.core->has_ended();
    });
  }
  map_ms_ = runtime_->now_ms();
  for (const auto& core : retired) core->close("the node is no master of the cluster any more");
  std::vector<std::weak_ptr<MapObserver>> observers;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(observers_, [](const auto& observer) { return observer.expired(); });
    observers = observers_;
  }
  for (const auto& each : observers) {
    if (const auto observer = each.lock()) observer->map_changed();
  }
}

void ClusterServers::add_observer(std::weak_ptr<MapObserver> observer) {
  const std::lock_guard lock(mutex_);
  observers_.push_back(std::move(observer));
}

/// Keeps nodes that redirects have named since the last map.
std::vector<std::shared_ptr<RedisCore>> ClusterServers::retire_all_but(const ClusterMap& map) {
  std::vector<std::shared_ptr<RedisCore>> cores;
  const auto is_kept = [&](const Node& node, const RedisAddress& address) {
    const auto master = std::ranges::find(map.masters(), address, &ClusterMap::Master::address);
    if (master == map.masters().end()) return node.named_ms >= map_ms_;
    return node.id.empty() || master->id.empty() || node.id == master->id;
  };
  for (auto node = nodes_.begin(); node != nodes_.end();) {
    if (is_kept(node->second, node->first)) {
      ++node;
      continue;
    }
    cores.push_back(node->second.core);
    retired_.push_back({std::move(node->second.core), runtime_->now_ms()});
    node = nodes_.erase(node);
  }
  return cores;
}

ClusterServers::Node& ClusterServers::node_of(const ClusterMap::Master& master) {
  Node& node = nodes_[master.address];
  if (node.id.empty()) node.id = master.id;
  if (node.core != nullptr) return node;
  node.core =
      std::make_shared<RedisCore>(options_of_node(runtime_->options(), master.address), runtime_);
  node.core->set_node_id(master.id);
  node.core->set_on_trouble([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->doubt_map();
  });
  node.core->set_write_key([weak = weak_from_this(), address = master.address] {
    const auto self = weak.lock();
    return self == nullptr ? std::string() : self->write_key(address);
  });
  node.core->set_on_write_key_elsewhere([weak = weak_from_this(), address = master.address] {
    if (const auto self = weak.lock()) self->change_write_key(address);
  });
  auto connected = std::make_shared<std::promise<absl::Status>>();
  node.connected = connected->get_future().share();
  node.core->start([connected](const absl::Status& status) { connected->set_value(status); });
  return node;
}

std::shared_ptr<RedisCore> ClusterServers::owner(int slot) {
  const std::lock_guard lock(mutex_);
  const ClusterMap::Master* const master = map_.owner(slot);
  return master == nullptr || is_closed_ ? nullptr : node_of(*master).core;
}

std::shared_ptr<RedisCore> ClusterServers::node_at(const RedisAddress& address) {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return nullptr;
  Node& node = node_of({{}, address});
  node.named_ms = runtime_->now_ms();
  return node.core;
}

std::shared_ptr<RedisCore> ClusterServers::any_master() {
  const auto all = masters();
  const auto usable = std::ranges::find_if(
      all, [](const auto& core) { return !core->shared().dead_reason().has_value(); });
  if (usable != all.end()) return *usable;
  return all.empty() ? nullptr : all.front();
}

std::vector<std::shared_ptr<RedisCore>> ClusterServers::masters() {
  std::vector<std::shared_ptr<RedisCore>> all;
  const std::lock_guard lock(mutex_);
  if (is_closed_) return all;
  for (const ClusterMap::Master& master : map_.masters()) all.push_back(node_of(master).core);
  return all;
}

std::string ClusterServers::without_owner(int slot) {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return concat(error_code::kClosed, " ", kClosedText);
  return concat(redis_error_code::kClusterDown, " no master serves slot ", slot, ": ",
                map_problem_);
}

std::string ClusterServers::without_master() {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return concat(error_code::kClosed, " ", kClosedText);
  return concat(redis_error_code::kClusterDown, " ", map_problem_);
}

/// Returns a key in a slot of the master at `address`; empty if it has no slot.
std::string ClusterServers::write_key(const RedisAddress& address) {
  const auto is_there = [&](std::string_view key) {
    const ClusterMap::Master* const owner = map_.owner(key_slot(key));
    return owner != nullptr && owner->address == address;
  };
  const std::lock_guard lock(mutex_);
  const auto node = nodes_.find(address);
  if (node == nodes_.end()) return {};
  std::string& known = node->second.write_key;
  // A node that only redirects name has no slots yet.
  const bool is_master = std::ranges::any_of(
      map_.masters(), [&](const ClusterMap::Master& each) { return each.address == address; });
  if (!is_master) return known = "";
  if (!known.empty() && is_there(known)) return known;
  constexpr int kTagsMax = 1'000'000;  // even one slot alone has a shorter tag
  for (int& tag = node->second.write_key_tag; tag < kTagsMax; ++tag) {
    known = concat("{", tag, ReplicaWait::kWriteKeyEnd);
    if (is_there(known)) return known;
  }
  node->second.write_key_tag = 0;
  return known = "";
}

/// The slot of the key is moving, or has moved without the map saying so.
void ClusterServers::change_write_key(const RedisAddress& address) {
  const std::lock_guard lock(mutex_);
  const auto node = nodes_.find(address);
  if (node == nodes_.end()) return;
  node->second.write_key.clear();
  ++node->second.write_key_tag;
}

void ClusterServers::note_moved(int slot, const RedisAddress& address) {
  {
    const std::lock_guard lock(mutex_);
    map_.set_owner(slot, address);
    is_contradicted_ = true;
  }
  doubt_map();
}

void ClusterServers::note_redirect() {
  const std::lock_guard lock(mutex_);
  is_contradicted_ = true;
}

void ClusterServers::refresh(absl::AnyInvocable<void()> then) {
  bool is_wanted = false;
  {
    const std::lock_guard lock(mutex_);
    if (!is_closed_) {
      is_wanted = refreshing_.empty();
      refreshing_.push_back(std::exchange(then, nullptr));
    }
  }
  if (then) return then();
  if (!is_wanted) return;
  boost::asio::post(runtime_->io(), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->look_at_map();
  });
}

void ClusterServers::look_at_map() {
  std::vector<absl::AnyInvocable<void()>> all;
  bool takes_last = false;
  {
    const std::lock_guard lock(mutex_);
    std::swap(all, refreshing_);
    takes_last = !is_contradicted_;
  }
  finder_.find(takes_last, [all = std::move(all)](const absl::Status& /*status*/) mutable {
    for (auto& then : all) then();
  });
}

void ClusterServers::doubt_map() {
  refresh([] {});
}

void ClusterServers::after(std::int64_t pause_ms, absl::AnyInvocable<void()> then) {
  if (auto late = pauses_->after(pause_ms, std::move(then))) (*late)();
}

}  // namespace rushgate
