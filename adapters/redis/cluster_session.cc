#include "adapters/redis/cluster_session.h"

#include <algorithm>
#include <string>
#include <utility>

#include "adapters/redis/replica_wait.h"
#include "adapters/redis/text.h"
#include "engine/core/client/command_traits.h"
#include "engine/core/client/key_slot.h"
#include "engine/core/client/redis_error_code.h"
#include <rushgate/reply.h>

namespace rushgate {
namespace {

// Redirects that are followed. After a failover or a migration there are one or two.
constexpr int kHopsMax = 5;
constexpr std::int64_t kHopPauseMs = 5;  // before the second hop; it doubles

// TRYAGAIN: some of the keys have been migrated. That takes a moment for each key.
constexpr std::int64_t kTryAgainPauseMs = 10;
constexpr std::int64_t kTryAgainMaxMs = 1'000;

bool did_nothing(std::span<const Reply> replies) {
  return std::ranges::all_of(
      replies, [](const Reply& reply) { return has_code(reply, error_code::kClosed); });
}

/// Returns the error by which the node refused to run the unit; null if it ran.
const Reply* refusal_of_unit(std::span<const Reply> replies) {
  const auto is_of_cluster = [](const Reply& reply) {
    if (!reply.is_error()) return false;
    const std::string_view code = reply.error_code();
    return code == redis_error_code::kMoved || code == redis_error_code::kAsk ||
           code == redis_error_code::kTryAgain || code == redis_error_code::kClusterDown;
  };
  const auto found = std::ranges::find_if(replies, is_of_cluster);
  if (found == replies.end()) return nullptr;
  // A transaction ran unless EXEC has an error. WAIT behind it does not matter.
  const bool ran = std::any_of(found, replies.end(), [](const Reply& reply) {
    return reply.is_aggregate() || reply.is_nil();
  });
  return ran ? nullptr : &*found;
}

}  // namespace

ClusterSession::ClusterSession(std::shared_ptr<ClusterServers> servers, ClientOptions options)
    : servers_(std::move(servers)),
      options_(std::move(options)),
      subscriptions_(options_.on_message
                         ? std::make_shared<ClusterSubscriptions>(servers_, options_)
                         : nullptr) {
  if (subscriptions_ != nullptr) servers_->add_observer(subscriptions_);
}

// ---- Submitting ---------------------------------------------------------------------------------

std::optional<Reply> ClusterSession::submit(Submission& submission) {
  if (options_.queue_timeout_ms != 0) {
    submission.deadline_ms = runtime().now_ms() + options_.queue_timeout_ms;
  }
  if (auto error = runtime().admit(submission, options_.fail_when_full)) return error;
  submission.prepare();
  auto* const whole = new ClusterWhole(shared_from_this(), submission);  // deletes itself
  for (const RequestUnit& unit : whole->units()) begin(*whole, unit);
  whole->release();
  return std::nullopt;
}

/// Sends the parts of a unit, or refuses it.
void ClusterSession::begin(ClusterWhole& whole, const RequestUnit& unit) {
  if (unit.refusal) return whole.refuse(unit, *unit.refusal);
  if (const auto error = refusal(whole.submission().requests[unit.first])) {
    return whole.refuse(unit, *error);
  }
  if (unit.reach == Reach::kAnyMaster) return send(whole.add_part(unit));
  const auto masters = servers_->masters();
  if (masters.empty()) whole.refuse(unit, Reply::error(servers_->without_master()));
  for (const auto& master : masters) {
    ClusterPart& part = whole.add_part(unit);
    part.node = master;
    send(part);
  }
}

/// Returns the error of a request that Redis would refuse on the connection of a subscriber.
std::optional<Reply> ClusterSession::refusal(const Request& request) {
  if (subscriptions_ == nullptr) return std::nullopt;
  if (command_traits(request).connection == ConnectionUse::kSubscribes) return std::nullopt;
  if (equals_ignore_case(request[0], "PING") || subscriptions_->wanted() == 0) return std::nullopt;
  return Reply::error(concat("ERR Can't execute '", request[0],
                             "': a client with subscriptions may only subscribe, unsubscribe and "
                             "PING"));
}

void ClusterSession::send(ClusterPart& part) {
  if (part.unit.slot && !part.unit.subscribes) {
    const std::lock_guard lock(mutex_);
    if (const auto gate = gates_.find(*part.unit.slot); gate != gates_.end()) {
      return gate->second.held.push_back(&part);
    }
    if (!take_off(part)) return gates_[*part.unit.slot].held.push_back(&part);
  }
  deliver(part);
}

/// Sends a part to its node. It may have ended when this returns.
void ClusterSession::deliver(ClusterPart& part) {
  auto node = find_node(part);
  if (node == nullptr) return finish(part);
  part.prepare_to_send();
  part.sent_to = node;
  const auto session = session_for(part);
  // A part is admitted: it is accepted, and fails later if it must.
  if (session != nullptr) return static_cast<void>(session->submit(part));
  part.fail_rest(error_code::kClosed, "the client is closed");
  finish(part);
}

std::shared_ptr<RedisSession> ClusterSession::session_for(ClusterPart& part) {
  return part.unit.subscribes ? subscriptions_->session_for(part.unit.slot, part.sent_to)
                              : session_on(part.sent_to);
}

/// Returns the node to send a part to. Null if there is none: then it has its replies.
std::shared_ptr<RedisCore> ClusterSession::find_node(ClusterPart& part) {
  std::shared_ptr<RedisCore> node = std::exchange(part.node, nullptr);
  if (node != nullptr) return node;
  const auto slot = part.unit.slot;
  if (part.unit.subscribes && !slot) node = subscriptions_->node_of_channels();
  if (node == nullptr) node = slot ? servers_->owner(*slot) : servers_->any_master();
  if (part.is_by_map && node == part.sent_to) return nullptr;  // its replies count
  part.is_by_map = false;
  if (node != nullptr) return node;
  part.prepare_to_send();
  const Reply error =
      Reply::error(slot ? servers_->without_owner(*slot) : servers_->without_master());
  part.replies.assign(part.unit.count, error);
  return nullptr;
}

std::shared_ptr<RedisSession> ClusterSession::session_on(const std::shared_ptr<RedisCore>& node) {
  std::shared_ptr<RedisSession> session;
  bool must_close = false;
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = sessions_.find(node); known != sessions_.end()) return known->second;
    absl::erase_if(sessions_, [](const auto& each) { return each.first->is_closed(); });
    session = std::make_shared<RedisSession>(node, options_);
    sessions_.emplace(node, session);
    must_close = is_closed_;
  }
  if (must_close) session->close();
  return session;
}

// ---- Replies ------------------------------------------------------------------------------------

void ClusterSession::ended(ClusterPart& part) {
  const auto self = shared_from_this();  // the part may have the last other reference
  const Again why = judge(part);
  why == Again::kNot ? finish(part) : send_again(part, why);
}

/// Says whether a part must be sent again.
ClusterSession::Again ClusterSession::judge(ClusterPart& part) {
  const std::span<Reply> replies = part.own_replies();
  part.asks = false;
  if (!std::ranges::any_of(replies, &Reply::is_error) || servers_->is_closed()) return Again::kNot;
  const auto requests = part.whole.submission().requests.subspan(part.unit.first, part.unit.count);
  if (ReplicaWait::is_wait_with_key(requests)) {
    if (ReplicaWait::is_key_elsewhere(replies)) part.sent_to->change_write_key();
    return Again::kNot;
  }
  const bool is_on_all = part.unit.reach == Reach::kAllMasters;
  if (did_nothing(replies)) {
    if (is_on_all || ++part.hops > kHopsMax) return Again::kNot;
    return Again::kByMap;
  }
  const Reply* const refusal = refusal_of_unit(replies);
  if (refusal == nullptr || is_on_all) return Again::kNot;
  if (const auto redirect = parse_redirect(*refusal)) return follow(part, *redirect);
  if (refusal->error_code() == redis_error_code::kTryAgain && part.waited_ms < kTryAgainMaxMs) {
    part.pause_ms = kTryAgainPauseMs;
    part.waited_ms += part.pause_ms;
    part.hops = 0;  // the keys that are still missing may be asked for again
    return Again::kSoon;
  }
  servers_->doubt_map();
  return Again::kNot;
}

ClusterSession::Again ClusterSession::follow(ClusterPart& part, const Redirect& redirect) {
  const RedisAddress sender{part.sent_to->options().host, part.sent_to->options().port};
  const auto address = node_address(redirect.endpoint, sender);
  ++runtime().counts.redirects;
  if (++part.hops > kHopsMax) {
    const Reply error =
        Reply::error(concat(error_code::kClosed, " slot ", redirect.slot, " was redirected ",
                            part.hops, " times, by ", sender.text(), " to ", redirect.endpoint));
    std::ranges::fill(part.own_replies(), error);
    return Again::kNot;
  }
  if (part.hops > 1) part.pause_ms = kHopPauseMs << (part.hops - 2);
  part.asks = redirect.only_once && address.has_value();
  if (!redirect.only_once && address) servers_->note_moved(redirect.slot, *address);
  if (!address) {
    servers_->note_redirect();
    return Again::kByMap;
  }
  part.node = servers_->node_at(*address);
  return Again::kSoon;
}

void ClusterSession::send_again(ClusterPart& part, Again why) {
  part.is_by_map = why == Again::kByMap;
  const auto slot = part.unit.slot;
  if (slot && !part.unit.blocks) {
    std::optional<Opening> opening;
    {
      const std::lock_guard lock(mutex_);
      gates_[*slot].again.push_back(&part);
      opening = leave(*slot);
    }
    return open_later(*slot, opening);
  }
  auto deliver_later = [self = shared_from_this(), &part] { self->deliver(part); };
  if (part.is_by_map) return servers_->refresh(std::move(deliver_later));
  const std::int64_t pause_ms = std::exchange(part.pause_ms, 0);
  pause_ms > 0 ? servers_->after(pause_ms, std::move(deliver_later)) : deliver(part);
}

void ClusterSession::finish(ClusterPart& part) {
  const auto slot = part.unit.slot;
  const bool counts = slot && !part.unit.blocks;
  if (part.unit.subscribes && part.sent_to != nullptr) subscriptions_->note_replies(part);
  part.whole.ended(part);
  if (!counts) return;
  std::optional<Opening> opening;
  {
    const std::lock_guard lock(mutex_);
    opening = leave(*slot);
  }
  open_later(*slot, opening);
}

// ---- Gates --------------------------------------------------------------------------------------

/// Begins the flight of a part, to its redirect's node or to the owner of its slot. Returns false if others
/// are under way to another node.
bool ClusterSession::take_off(ClusterPart& part) {
  if (part.unit.blocks) return true;
  const int slot = *part.unit.slot;
  const std::shared_ptr<RedisCore> node = part.node != nullptr ? part.node : servers_->owner(slot);
  Flight& flight = in_flight_[slot];
  if (flight.count > 0 && node != flight.node) return false;
  ++flight.count;
  flight.node = node;
  const bool is_sent_again = !part.is_by_map || node != part.sent_to;
  if (node != nullptr && is_sent_again) {
    part.node = node;
    part.is_by_map = false;
  }
  return true;
}

/// Ends the flight of a part. The last one opens the slot's gate, if there is one.
std::optional<ClusterSession::Opening> ClusterSession::leave(int slot) {
  const auto flight = in_flight_.find(slot);
  if (--flight->second.count > 0) return std::nullopt;
  in_flight_.erase(flight);
  const auto gate = gates_.find(slot);
  if (gate == gates_.end() || gate->second.is_opening) return std::nullopt;
  return begin_opening(gate->second);
}

ClusterSession::Opening ClusterSession::begin_opening(Gate& gate) {
  gate.is_opening = true;
  Opening opening;
  for (const ClusterPart* const part : gate.again) {
    opening.is_by_map = opening.is_by_map || part->is_by_map;
    opening.pause_ms = std::max(opening.pause_ms, part->pause_ms);
  }
  return opening;
}

/// Opens the gate when the pause of its parts is over, and the map was looked at.
void ClusterSession::open_later(int slot, const std::optional<Opening>& opening) {
  if (!opening) return;
  auto open = [self = shared_from_this(), slot] { self->open_gate(slot); };
  if (opening->is_by_map) return servers_->refresh(std::move(open));
  servers_->after(opening->pause_ms, std::move(open));
}

void ClusterSession::open_gate(int slot) {
  while (true) {
    std::deque<ClusterPart*> parts;
    bool are_some_held = false;  // until those that are sent have their replies
    {
      const std::lock_guard lock(mutex_);
      Gate& gate = gates_[slot];
      std::deque<ClusterPart*> waiting;
      waiting.swap(gate.again);
      waiting.insert(waiting.end(), gate.held.begin(), gate.held.end());
      if (waiting.empty()) {
        gates_.erase(slot);
        return;
      }
      while (!waiting.empty() && take_off(*waiting.front())) {
        parts.push_back(waiting.front());
        waiting.pop_front();
      }
      are_some_held = !waiting.empty();
      gate.held = std::move(waiting);
    }
    for (ClusterPart* const part : parts) {
      part->pause_ms = 0;
      deliver(*part);
    }
    std::optional<Opening> opening;
    {
      const std::lock_guard lock(mutex_);
      Gate& gate = gates_[slot];
      if (gate.again.empty() && !are_some_held) continue;
      // Some were redirected once more, or go to another node: the others must have their replies first.
      gate.is_opening = false;
      if (!in_flight_.contains(slot)) opening = begin_opening(gate);
    }
    return open_later(slot, opening);
  }
}

// ---- Ending -------------------------------------------------------------------------------------

void ClusterSession::unblock() {
  std::vector<std::shared_ptr<RedisSession>> sessions;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [node, session] : sessions_) sessions.push_back(session);
  }
  for (const auto& session : sessions) session->unblock();
}

void ClusterSession::close() {
  std::vector<std::shared_ptr<RedisSession>> sessions;
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    for (const auto& [node, session] : sessions_) sessions.push_back(session);
  }
  if (subscriptions_ != nullptr) subscriptions_->close();
  for (const auto& session : sessions) session->close();
}

absl::StatusOr<std::vector<std::vector<Request>>> ClusterSession::replica_waits(
    const ReplicaWait& wait, std::optional<std::string_view> key) {
  auto masters = servers_->masters();
  if (masters.empty()) return absl::UnavailableError(servers_->without_master());
  if (key) {
    const int slot = key_slot(*key);
    const auto owner = servers_->owner(slot);
    if (owner == nullptr) return absl::UnavailableError(servers_->without_owner(slot));
    masters = {owner};
  }
  std::vector<std::vector<Request>> all;
  for (const auto& master : masters) {
    ReplicaWait of_node = wait;
    of_node.key = master->write_key();
    if (of_node.key.empty()) {
      const RedisAddress address{master->options().host, master->options().port};
      return absl::UnavailableError(concat("the master ", address.text(), " has no slot"));
    }
    all.push_back(of_node.requests());
  }
  return all;
}

}  // namespace rushgate
