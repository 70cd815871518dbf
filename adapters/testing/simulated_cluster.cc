#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/base/concat.h"
#include "engine/core/client/command_keys.h"
#include "engine/core/client/command_names.h"
#include "engine/core/client/key_slot.h"
#include "engine/core/client/redis_error_code.h"
#include <rushgate/simulated_cluster.h>
#include <rushgate/test_engine.h>

namespace rushgate::testing {
namespace {

/// A key with its value, as DUMP returns it.
struct DumpedKey {
  std::string name;
  std::string value;
  std::int64_t expires_at_ms = 0;  // 0: never
};
using Dump = std::vector<DumpedKey>;

DumpedKey dump_key(Client& client, std::string_view name) {
  const std::int64_t expires_at_ms = client("PEXPIRETIME", name).integer();
  return {.name = std::string(name),
          .value = std::string(client("DUMP", name).text()),
          .expires_at_ms = std::max<std::int64_t>(expires_at_ms, 0)};
}

Dump dump_all(Client& client) {
  Dump dump;
  const Reply names = client("KEYS", "*");
  for (const Reply& name : names.elements()) dump.push_back(dump_key(client, name.text()));
  return dump;
}

void restore_key(Client& client, const DumpedKey& key) {
  const Reply restored =
      client("RESTORE", key.name, key.expires_at_ms, key.value, "REPLACE", "ABSTTL");
  if (restored != Reply::ok()) throw std::runtime_error(to_debug_string(restored));
}

// ---- Where requests go ----

/// Where a request without keys goes.
enum class Target : std::uint8_t { kAnyMaster, kAllMasters, kChannels };

struct TargetedCommand {
  std::string_view name;
  Target target;
};
constexpr std::array kTargeted = {
    TargetedCommand{"flushall", Target::kAllMasters},
    TargetedCommand{"flushdb", Target::kAllMasters},
    TargetedCommand{"function", Target::kAllMasters},
    TargetedCommand{"psubscribe", Target::kChannels},
    TargetedCommand{"publish", Target::kChannels},
    TargetedCommand{"punsubscribe", Target::kChannels},
    TargetedCommand{"script", Target::kAllMasters},
    TargetedCommand{"spublish", Target::kChannels},
    TargetedCommand{"ssubscribe", Target::kChannels},
    TargetedCommand{"subscribe", Target::kChannels},
    TargetedCommand{"sunsubscribe", Target::kChannels},
    TargetedCommand{"unsubscribe", Target::kChannels},
};

Target target_of(const Request& request) {
  static const CommandNames<TargetedCommand> kByName(kTargeted);
  const TargetedCommand* const found = kByName.find(request);
  return found == nullptr ? Target::kAnyMaster : found->target;
}

/// The slot of a request's keys; `is_crossing`: there are several.
struct RequestSlot {
  std::optional<int> slot;
  bool is_crossing = false;
};

RequestSlot slot_of(const Request& request) {
  RequestSlot found;
  const Request::Views views = request.views();
  for (const FoundKey& key : find_keys(command_keys(request), views)) {
    const int slot = key_slot(views[key.position]);
    if (found.slot && *found.slot != slot) found.is_crossing = true;
    found.slot = slot;
  }
  return found;
}

Reply down(int master) {
  return Reply::error(concat("CLOSED the master ", master, " of the simulated cluster is down"));
}

Reply cross_slot() {
  return Reply::error(
      concat(redis_error_code::kCrossSlot, " the keys of a request are in different slots"));
}

bool begins_transaction(std::span<const Request> requests) {
  return !requests.empty() && requests.front()[0] == "MULTI";
}

}  // namespace

// ---- The servers ------------------------------------------------------------------------------

class SimulatedCluster::Impl {
 public:
  Impl(int masters, std::int64_t now_ms)
      : channels_({.now_ms = now_ms, .engine = {.queue_capacity = kQueueCapacity}}) {
    if (masters < 1) throw std::runtime_error("a simulated cluster needs a master");
    for (int i = 0; i < masters; ++i) {
      nodes_.emplace_back();
      open(i, {});
    }
    for (int slot = 0; slot < kSlots; ++slot) owners_.push_back(slot * masters / kSlots);
  }

  [[nodiscard]] int masters() const { return static_cast<int>(nodes_.size()); }
  [[nodiscard]] int owner(int slot) const { return owners_[static_cast<std::size_t>(slot)]; }
  [[nodiscard]] TestEngine& channels() { return channels_; }
  /// Null: it is down.
  [[nodiscard]] TestEngine* engine(int master) { return node(master).engine.get(); }
  /// Raised whenever a master starts.
  [[nodiscard]] int run(int master) { return node(master).run; }
  [[nodiscard]] int first_up() const {
    const auto found =
        std::ranges::find_if(nodes_, [](const Node& node) { return node.engine != nullptr; });
    return found == nodes_.end() ? 0 : static_cast<int>(found - nodes_.begin());
  }

  void kill(int master) {
    Node& ended = node(master);
    if (ended.engine == nullptr) return;
    ended.kept = dump_all(ended.engine->client());
    ended.engine.reset();
  }
  void start(int master, Comeback comeback) {
    kill(master);
    Node& ended = node(master);
    // Its replicas copy what it has, however little that is.
    if (comeback == Comeback::kWithAll) ended.replicated = ended.kept;
    if (comeback == Comeback::kEmpty) ended.replicated.clear();
    open(master, ended.replicated);
  }
  void replicate(int master) {
    Node& copied = node(master);
    if (copied.engine != nullptr) copied.replicated = dump_all(copied.engine->client());
  }
  void move_slot(int slot, int to) {
    TestEngine* const source = engine(owner(slot));
    TestEngine* const target = engine(to);
    if (source == nullptr || target == nullptr || source == target) return;
    for (const DumpedKey& key : dump_all(source->client())) {
      if (key_slot(key.name) != slot) continue;
      restore_key(target->client(), key);
      source->call("DEL", key.name);
    }
    owners_[static_cast<std::size_t>(slot)] = to;
  }
  void advance_ms(std::int64_t duration_ms) {
    for (const Node& node : nodes_) {
      if (node.engine != nullptr) node.engine->advance_ms(duration_ms);
    }
    channels_.advance_ms(duration_ms);
  }

 private:
  static constexpr std::size_t kQueueCapacity = 256;  // a large queue takes a while to make

  struct Node {
    std::unique_ptr<TestEngine> engine;
    int run = 0;
    Dump kept = {};        // at its end
    Dump replicated = {};  // at the last replicate() or start()
  };

  [[nodiscard]] Node& node(int master) { return nodes_.at(static_cast<std::size_t>(master)); }
  void open(int master, const Dump& dump) {
    Node& opened = node(master);
    // The run id that clients see is made of the seed.
    opened.engine = std::make_unique<TestEngine>(
        TestEngineOptions{.now_ms = channels_.now_ms(),
                          .engine = {.queue_capacity = kQueueCapacity, .seed = ++last_seed_}});
    ++opened.run;
    // A slot that was moved away since is not served here any more.
    for (const DumpedKey& key : dump) {
      const bool is_here = owners_.empty() || owner(key_slot(key.name)) == master;
      if (is_here) restore_key(opened.engine->client(), key);
    }
  }

  TestEngine channels_;  // also has the clock and the timers; it is always up
  std::vector<Node> nodes_;
  std::vector<int> owners_;  // of each slot
  std::uint64_t last_seed_ = 1;
};

// ---- Connections ------------------------------------------------------------------------------

/// A process's connections. A connection to a master is checked once for each run of the master.
class SimulatedCluster::ConnectedBackend final : public Backend {
 public:
  explicit ConnectedBackend(Impl& cluster)
      : cluster_(cluster), checked_(static_cast<std::size_t>(cluster.masters()), 0) {}

  using Backend::open_client;
  [[nodiscard]] std::unique_ptr<Client> open_client(const ClientOptions& options) override;
  [[nodiscard]] const Clock& clock() const override { return cluster_.channels().clock(); }
  [[nodiscard]] Scheduler& scheduler() override { return cluster_.channels().engine().scheduler(); }
  [[nodiscard]] absl::Status health() const override { return absl::OkStatus(); }
  [[nodiscard]] Capabilities capabilities() const override { return {.has_slots = true}; }
  void add_native_scripts(std::span<const NamedScript> /*scripts*/) override {}
  void add_connection_check(std::weak_ptr<const ConnectionCheck> check) override {
    checks_.push_back(std::move(check));
  }

  [[nodiscard]] Impl& cluster() { return cluster_; }
  /// Runs the checks unless this was done since the master started.
  absl::Status check(int master);

 private:
  Impl& cluster_;
  std::vector<std::weak_ptr<const ConnectionCheck>> checks_;
  std::vector<int> checked_;  // the run of each master whose connection is checked
};

class SimulatedCluster::Session final : public Client {
 public:
  /// `only`: a connection to this master alone, without checks.
  Session(ConnectedBackend& backend, ClientOptions options, std::optional<int> only = {})
      : backend_(backend), options_(std::move(options)), only_(only) {}

  void submit(Request request, Completion completion) override {
    const Way way = find_way(request);
    if (way.client != nullptr) return way.client->submit(std::move(request), std::move(completion));
    completion(way.reply);
  }
  Reply call(Request request) override {
    const Way way = find_way(request);
    return way.client != nullptr ? way.client->call(std::move(request)) : way.reply;
  }
  std::vector<Reply> pipeline(std::span<const Request> requests) override {
    if (begins_transaction(requests)) {
      const Way way = way_to(only_.value_or(cluster().first_up()));
      if (way.client != nullptr) return way.client->pipeline(requests);
      return std::vector<Reply>(requests.size(), way.reply);
    }
    std::vector<Reply> replies;
    replies.reserve(requests.size());
    for (const Request& request : requests) replies.push_back(call(Request(request)));
    return replies;
  }
  void unblock() override {
    for (const auto& [master, connection] : connections_) connection.client->unblock();
    if (channels_ != nullptr) channels_->unblock();
  }
  Reply sync() override { return Reply::ok(); }
  Reply sync_of(std::string_view key) override {
    const Way way = find_way(Request::of("EXISTS", key));
    return way.client != nullptr ? way.client->sync() : way.reply;
  }

 private:
  struct Connection {
    int run = 0;
    std::unique_ptr<Client> client;
  };
  /// Where a request goes, or its reply.
  struct Way {
    Client* client = nullptr;
    Reply reply = {};
  };

  [[nodiscard]] Impl& cluster() const { return backend_.cluster(); }

  Way way_to(int master) {
    const int run = cluster().run(master);
    if (!only_ && cluster().engine(master) != nullptr) {
      const absl::Status checked = backend_.check(master);
      if (!checked.ok()) return {.reply = Reply::error(concat("CLOSED ", checked.message()))};
    }
    // A check may wait, and others end or start the master meanwhile: this connection has ended, too.
    TestEngine* const engine = cluster().engine(master);
    if (engine == nullptr || run != cluster().run(master)) return {.reply = down(master)};
    Connection& connection = connections_[master];
    if (connection.run != run) connection = {run, engine->engine().open_client(options_)};
    return {.client = connection.client.get()};
  }

  Way way_to_channels() {
    if (channels_ == nullptr) channels_ = cluster().channels().engine().open_client(options_);
    return {.client = channels_.get()};
  }

  /// Runs a request on each master. Returns the last reply, or the first error.
  Way on_all(const Request& request) {
    Reply reply;
    for (int master = 0; master < cluster().masters(); ++master) {
      const Way way = way_to(master);
      reply = way.client != nullptr ? way.client->call(Request(request)) : way.reply;
      if (reply.is_error()) break;
    }
    return {.reply = std::move(reply)};
  }

  Way find_way(const Request& request) {
    const RequestSlot keys = slot_of(request);
    if (keys.is_crossing) return {.reply = cross_slot()};
    if (keys.slot) {
      const int master = cluster().owner(*keys.slot);
      if (only_.value_or(master) == master) return way_to(master);
      return {.reply = Reply::error(concat(redis_error_code::kMoved, " ", *keys.slot,
                                           " 127.0.0.1:", 7'000 + master))};
    }
    switch (target_of(request)) {
      case Target::kChannels:
        return way_to_channels();
      case Target::kAllMasters:
        return only_ ? way_to(*only_) : on_all(request);
      case Target::kAnyMaster:
        break;
    }
    return way_to(only_.value_or(cluster().first_up()));
  }

  ConnectedBackend& backend_;
  const ClientOptions options_;
  const std::optional<int> only_;
  std::map<int, Connection> connections_;
  std::unique_ptr<Client> channels_;
};

std::unique_ptr<Client> SimulatedCluster::ConnectedBackend::open_client(
    const ClientOptions& options) {
  return std::make_unique<Session>(*this, options);
}

absl::Status SimulatedCluster::ConnectedBackend::check(int master) {
  int& checked = checked_[static_cast<std::size_t>(master)];
  const int run = cluster_.run(master);
  if (checked == run) return absl::OkStatus();
  checked = run;  // a check may use other clients of this backend
  for (const auto& each : std::vector(checks_)) {
    const auto check = each.lock();
    if (check == nullptr) continue;
    Session connection(*this, {}, master);
    const absl::Status status = (*check)(connection);
    if (!status.ok()) {
      checked = 0;
      return status;
    }
  }
  return absl::OkStatus();
}

// ---- The cluster ------------------------------------------------------------------------------

SimulatedCluster::SimulatedCluster(int masters, std::int64_t now_ms)
    : impl_(std::make_unique<Impl>(masters, now_ms)) {}
SimulatedCluster::~SimulatedCluster() = default;

std::unique_ptr<Backend> SimulatedCluster::connect() {
  return std::make_unique<ConnectedBackend>(*impl_);
}
int SimulatedCluster::masters() const { return impl_->masters(); }
int SimulatedCluster::master_of(std::string_view key) const { return impl_->owner(key_slot(key)); }
bool SimulatedCluster::is_up(int master) const { return impl_->engine(master) != nullptr; }
void SimulatedCluster::kill(int master) { impl_->kill(master); }
void SimulatedCluster::start(int master, Comeback comeback) { impl_->start(master, comeback); }
void SimulatedCluster::replicate(int master) { impl_->replicate(master); }
void SimulatedCluster::move_slot_of(std::string_view key, int to) {
  impl_->move_slot(key_slot(key), to);
}
std::int64_t SimulatedCluster::now_ms() const { return impl_->channels().now_ms(); }
void SimulatedCluster::advance_ms(std::int64_t duration_ms) { impl_->advance_ms(duration_ms); }

}  // namespace rushgate::testing
