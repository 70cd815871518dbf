#include "adapters/redis/cluster_subscriptions.h"

#include <algorithm>
#include <utility>

#include "adapters/redis/internal_submission.h"

namespace rushgate {
namespace {

constexpr std::string_view kLost = "disconnected";
constexpr std::string_view kRenewed = "resubscribed";

}  // namespace

ClusterSubscriptions::ClusterSubscriptions(std::shared_ptr<ClusterServers> servers,
                                           ClientOptions options)
    : servers_(std::move(servers)), options_(std::move(options)) {}

std::size_t ClusterSubscriptions::wanted() {
  const std::lock_guard lock(mutex_);
  return count();
}

std::size_t ClusterSubscriptions::count() const {
  std::size_t sum = channels_.wanted();
  for (const auto& [slot, shard] : shards_) sum += shard.channels.wanted();
  return sum;
}

// ---- Requests of the client ---------------------------------------------------------------------

ClusterSubscriptions::SubscriberOnNode ClusterSubscriptions::open(
    const std::shared_ptr<RedisCore>& node) {
  auto subscriber = std::make_shared<Subscriber>();
  subscriber->node = node;
  ClientOptions options = options_;
  options.on_message = [weak = weak_from_this(),
                        from = std::weak_ptr<Subscriber>(subscriber)](Reply message) {
    if (const auto self = weak.lock()) self->on_message(from, std::move(message));
  };
  subscriber->session = std::make_shared<RedisSession>(node, std::move(options));
  return subscriber;
}

ClusterSubscriptions::SubscriberOnNode ClusterSubscriptions::shard_subscriber(
    const std::shared_ptr<RedisCore>& node) {
  const auto known = std::ranges::find(shard_subscribers_, node, &Subscriber::node);
  if (known != shard_subscribers_.end()) return *known;
  return shard_subscribers_.emplace_back(open(node));
}

std::shared_ptr<RedisCore> ClusterSubscriptions::node_of_channels() {
  const std::lock_guard lock(mutex_);
  if (channel_subscriber_ == nullptr) return nullptr;
  // What is subscribed there moves when the map says so, and nothing may overtake it.
  const bool is_of_use = channels_.wanted() > 0 || !channel_subscriber_->node->is_closed();
  return is_of_use ? channel_subscriber_->node : nullptr;
}

std::shared_ptr<RedisSession> ClusterSubscriptions::session_for(
    std::optional<int> slot, const std::shared_ptr<RedisCore>& node) {
  SubscriberOnNode replaced;
  std::shared_ptr<RedisSession> session;
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return nullptr;
    if (slot) return shard_subscriber(node)->session;
    if (channel_subscriber_ == nullptr || channel_subscriber_->node != node) {
      replaced = std::exchange(channel_subscriber_, open(node));
    }
    session = channel_subscriber_->session;
  }
  if (replaced != nullptr) replaced->session->close();
  return session;
}

void ClusterSubscriptions::note_replies(ClusterPart& part) {
  const std::lock_guard lock(mutex_);
  const auto slot = part.unit.slot;
  ConnectionSubscriptions& all = slot ? shards_[*slot].channels : channels_;
  for (const Reply& reply : part.own_replies()) {
    for (const Reply& confirmation : reply.elements()) all.note_confirmation(confirmation);
  }
  if (!slot) return;
  if (all.wanted() == 0) {
    shards_.erase(*slot);
  } else if (!is_closed_) {
    shards_[*slot].subscriber = shard_subscriber(part.sent_to);
  }
}

void ClusterSubscriptions::close() {
  std::vector<SubscriberOnNode> all;
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    std::swap(all, shard_subscribers_);
    if (channel_subscriber_ != nullptr) all.push_back(std::exchange(channel_subscriber_, nullptr));
    shards_.clear();
  }
  for (const auto& subscriber : all) subscriber->session->close();
}

// ---- Changes of the cluster ---------------------------------------------------------------------

/// Forgets a subscriber. The caller closes it, without the lock.
void ClusterSubscriptions::drop(const SubscriberOnNode& subscriber,
                                std::vector<SubscriberOnNode>& dropped) {
  dropped.push_back(subscriber);
  std::erase(shard_subscribers_, subscriber);
  for (auto& [slot, shard] : shards_) {
    if (shard.subscriber == subscriber) shard.subscriber = nullptr;
  }
}

void ClusterSubscriptions::map_changed() {
  std::vector<SubscriberOnNode> dropped;
  std::vector<Renewal> renewals;
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return;
    // A server has the channels of a slot as long as it is its master.
    for (auto& [slot, shard] : shards_) {
      const SubscriberOnNode subscriber = shard.subscriber;
      if (subscriber != nullptr && servers_->owner(slot) != subscriber->node) {
        drop(subscriber, dropped);
      }
    }
    for (auto& [slot, shard] : shards_) {
      const auto owner = shard.subscriber == nullptr ? servers_->owner(slot) : nullptr;
      if (owner == nullptr) continue;
      shard.subscriber = shard_subscriber(owner);
      renewals.push_back({shard.subscriber, shard.channels.renewal(), slot});
    }
    const SubscriberOnNode channels = channel_subscriber_;
    const bool must_move = channels == nullptr || channels->node->is_closed() ||
                           (channels->is_lost && channels->node->shared().dead_reason());
    const auto other = must_move && channels_.wanted() > 0 ? servers_->any_master() : nullptr;
    if (other != nullptr && (channels == nullptr || other != channels->node)) {
      if (channels != nullptr) drop(channels, dropped);
      channel_subscriber_ = open(other);
      renewals.push_back({channel_subscriber_, channels_.renewal(), std::nullopt});
    }
  }
  for (const auto& subscriber : dropped) {
    subscriber->session->close();
    if (!subscriber->is_lost) notify(kLost);
  }
  for (Renewal& renewal : renewals) renew(std::move(renewal));
}

void ClusterSubscriptions::renew(Renewal renewal) {
  const SubscriberOnNode subscriber = renewal.subscriber;
  auto renewing = std::make_unique<InternalSubmission>(
      std::move(renewal.requests),
      [self = shared_from_this(), subscriber, slot = renewal.slot](std::span<const Reply> replies) {
        if (std::ranges::none_of(replies, &Reply::is_error)) {
          ++self->servers_->runtime().counts.resubscriptions;
          return self->notify(kRenewed);
        }
        const std::lock_guard lock(self->mutex_);  // the next map decides
        if (!slot && self->channel_subscriber_ == subscriber) self->channel_subscriber_ = nullptr;
        const auto shard = slot ? self->shards_.find(*slot) : self->shards_.end();
        const bool is_there = shard != self->shards_.end();
        if (is_there && shard->second.subscriber == subscriber) shard->second.subscriber = nullptr;
      });
  renewing->is_part = true;
  renewing->route = Route::kOwn;
  static_cast<void>(subscriber->session->submit(*renewing.release()));  // deletes itself
}

// ---- Messages -----------------------------------------------------------------------------------

void ClusterSubscriptions::on_message(const std::weak_ptr<Subscriber>& from, Reply message) {
  const bool is_event = message.elements().size() == 3 && message.elements()[1].is_nil();
  if (is_event) {
    const auto subscriber = from.lock();
    if (subscriber == nullptr) return;
    const bool is_lost = message.elements()[0].text() == kLost;
    subscriber->is_lost = is_lost;
    if (is_lost) servers_->doubt_map();
    return notify(is_lost ? kLost : kRenewed);
  }
  options_.on_message(std::move(message));
}

/// Tells the client of a change of its connections.
void ClusterSubscriptions::notify(std::string_view event) {
  const auto number = static_cast<std::int64_t>(wanted());
  servers_->runtime().callbacks().run(
      [on_message = options_.on_message, name = std::string(event), number] {
        on_message(Reply::array({Reply::bulk(name), Reply::nil(), Reply::integer(number)}));
      });
}

}  // namespace rushgate
