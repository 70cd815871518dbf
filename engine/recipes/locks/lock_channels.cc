#include "engine/recipes/locks/lock_channels.h"

#include <algorithm>
#include <utility>

#include "engine/core/client/reply_status.h"

namespace rushgate {

void LockChannels::open(Backend& backend, bool are_of_shards) {
  ClientOptions options;
  options.on_message = [weak = weak_from_this()](const Reply& message) {
    if (const std::shared_ptr<LockChannels> self = weak.lock()) self->receive(message);
  };
  are_of_shards_ = are_of_shards;
  subscriber_ = backend.open_client(options);
}

LockChannels::Entry* LockChannels::find(const std::string& channel,
                                        const std::shared_ptr<ChannelListener>& listener) {
  const auto found = channels_.find(channel);
  if (found == channels_.end()) return nullptr;
  std::list<Entry>& entries = found->second.entries;
  const auto entry = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry& other) { return other.listener == listener; });
  return entry == entries.end() ? nullptr : &*entry;
}

void LockChannels::add(const std::string& channel, const std::shared_ptr<ChannelListener>& listener,
                       bool is_for_all) {
  bool is_subscribed = false;
  {
    const std::lock_guard lock(mutex_);
    Channel& joined = channels_[channel];
    is_subscribed = joined.is_subscribed && !joined.is_changing;
    joined.entries.push_back(
        {.listener = listener, .is_for_all = is_for_all, .is_notified = is_subscribed});
  }
  if (is_subscribed) return listener->subscribed(absl::OkStatus());
  update(channel);
}

void LockChannels::remove(const std::string& channel,
                          const std::shared_ptr<ChannelListener>& listener) {
  {
    const std::lock_guard lock(mutex_);
    const auto left = channels_.find(channel);
    if (left == channels_.end()) return;
    left->second.entries.remove_if([&](const Entry& entry) { return entry.listener == listener; });
  }
  update(channel);
}

bool LockChannels::pause(const std::string& channel,
                         const std::shared_ptr<ChannelListener>& listener) {
  const std::lock_guard lock(mutex_);
  Entry* const entry = find(channel, listener);
  if (entry == nullptr) return true;
  bool& has_message = entry->is_for_all ? entry->has_message : channels_[channel].has_message;
  if (std::exchange(has_message, false)) return false;
  entry->is_paused = true;
  return true;
}

bool LockChannels::end_pause(const std::string& channel,
                             const std::shared_ptr<ChannelListener>& listener) {
  const std::lock_guard lock(mutex_);
  Entry* const entry = find(channel, listener);
  return entry != nullptr && std::exchange(entry->is_paused, false);
}

/// Subscribes if there are listeners, unsubscribes if there are none. Sends one request at a time
/// per channel, so that they cannot overtake each other.
void LockChannels::update(const std::string& channel) {
  bool subscribes = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = channels_.find(channel);
    if (found == channels_.end() || found->second.is_changing) return;
    subscribes = !found->second.entries.empty();
    if (subscribes == found->second.is_subscribed) {
      if (!subscribes) channels_.erase(found);
      return;
    }
    found->second.is_changing = true;
  }
  // Not under the lock: without threads the completion runs before this returns.
  const char* const subscribe = are_of_shards_ ? "SSUBSCRIBE" : "SUBSCRIBE";
  const char* const unsubscribe = are_of_shards_ ? "SUNSUBSCRIBE" : "UNSUBSCRIBE";
  subscriber_->submit(Request::of(subscribes ? subscribe : unsubscribe, channel),
                      [weak = weak_from_this(), channel, subscribes](const Reply& reply) {
                        const std::shared_ptr<LockChannels> self = weak.lock();
                        if (!self) return;
                        self->updated(
                            channel, subscribes,
                            reply.is_error() ? to_status(reply, "subscribing") : absl::OkStatus());
                      });
}

void LockChannels::updated(const std::string& channel, bool subscribes,
                           const absl::Status& status) {
  Listeners notified;
  {
    const std::lock_guard lock(mutex_);
    Channel& changed = channels_[channel];
    changed.is_changing = false;
    changed.is_subscribed = subscribes && status.ok();
    changed.has_message = false;
    for (Entry& entry : changed.entries) {
      if (subscribes && !std::exchange(entry.is_notified, true)) notified.push_back(entry.listener);
    }
    if (subscribes && !status.ok()) changed.entries.clear();
  }
  for (const auto& listener : notified) listener->subscribed(status);
  update(channel);
}

/// Reads ["message", channel, …], or a backend's notice that messages may be missing.
void LockChannels::receive(const Reply& message) {
  if (message.elements().size() < 2) return;
  const std::string& kind = message.elements()[0].text();
  if (kind == "message" || kind == "smessage") return wake(message.elements()[1].text());
  if (kind != "resubscribed") return;
  Listeners resumed;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [name, received] : channels_) resume(received, /*all=*/true, resumed);
  }
  for (const auto& listener : resumed) listener->resumed();
}

void LockChannels::wake(const std::string& channel) {
  Listeners resumed;
  {
    const std::lock_guard lock(mutex_);
    const auto found = channels_.find(channel);
    if (found != channels_.end()) resume(found->second, /*all=*/false, resumed);
  }
  for (const auto& listener : resumed) listener->resumed();
}

/// Ends the pauses of the listeners that take messages for all, and of the first other one, or of
/// all others. The caller holds the mutex.
void LockChannels::resume(Channel& channel, bool all, Listeners& resumed) {
  bool is_taken = false;  // by a listener that is not for all
  bool is_missed = false;
  for (Entry& entry : channel.entries) {
    if (!all && is_taken && !entry.is_for_all) continue;
    const bool was_paused = std::exchange(entry.is_paused, false);
    if (was_paused) resumed.push_back(entry.listener);
    if (entry.is_for_all)
      entry.has_message = !was_paused;
    else
      (was_paused ? is_taken : is_missed) = true;
  }
  if (is_missed && !is_taken) channel.has_message = true;
}

}  // namespace rushgate
