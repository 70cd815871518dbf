// The channels that report releases to the locks of one process.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>

namespace rushgate {

/// Waits for messages of one channel. Both functions run as callbacks of the backend, or inside a
/// call of LockChannels.
class ChannelListener {
 public:
  virtual ~ChannelListener() = default;

  /// Runs once: messages arrive from now on, or the error why they never will.
  virtual void subscribed(const absl::Status& status) = 0;
  /// Runs when a message arrives after a pause began.
  virtual void resumed() = 0;
};

/// Subscribes to a channel as long as it has listeners. Thread-safe.
///
/// A message resumes the first listener that has paused. If none has, the next pause() returns
/// false. So no message is lost between an attempt and the pause after it.
///
/// On a Redis Cluster, those of locks are shard channels, as Redisson uses them there. A message then
/// reaches the nodes of one shard alone.
///
/// A listener that takes messages for all is resumed by each message, in addition to that one. If
/// it has not paused, its next pause() returns false.
class LockChannels : public std::enable_shared_from_this<LockChannels> {
 public:
  /// Opens the subscriber. To be called once, before anything else. `are_of_shards`: they are shard
  /// channels.
  void open(Backend& backend, bool are_of_shards);

  /// `is_for_all`: the listener takes messages that are for all.
  void add(const std::string& channel, const std::shared_ptr<ChannelListener>& listener,
           bool is_for_all);
  void remove(const std::string& channel, const std::shared_ptr<ChannelListener>& listener);
  /// Works as a message on the channel.
  void wake(const std::string& channel);
  /// Returns false if a message has arrived that resumed no listener: the caller goes on.
  bool pause(const std::string& channel, const std::shared_ptr<ChannelListener>& listener);
  /// Ends a pause. Returns false if the listener is not paused.
  bool end_pause(const std::string& channel, const std::shared_ptr<ChannelListener>& listener);

 private:
  struct Entry {
    std::shared_ptr<ChannelListener> listener;
    bool is_for_all = false;
    bool is_notified = false;  // by subscribed()
    bool is_paused = false;
    bool has_message = false;  // for all, before this one paused
  };
  struct Channel {
    std::list<Entry> entries;
    bool is_subscribed = false;
    bool is_changing = false;  // a request is under way
    bool has_message = false;
  };
  using Listeners = std::vector<std::shared_ptr<ChannelListener>>;

  void update(const std::string& channel);
  void updated(const std::string& channel, bool subscribes, const absl::Status& status);
  void receive(const Reply& message);
  static void resume(Channel& channel, bool all, Listeners& resumed);
  Entry* find(const std::string& channel, const std::shared_ptr<ChannelListener>& listener);

  bool are_of_shards_ = false;
  std::unique_ptr<Client> subscriber_;
  std::mutex mutex_;
  std::map<std::string, Channel> channels_;  // guarded by mutex_
};

}  // namespace rushgate
