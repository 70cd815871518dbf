// Subscriptions to channels: https://redis.io/docs/latest/develop/interact/pubsub/
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "engine/redis/commands/outlet.h"
#include <rushgate/reply.h>

namespace rushgate {

struct Session;

enum class ChannelKind : std::uint8_t { kPlain, kPattern, kShard };
inline constexpr std::size_t kChannelKinds = 3;

/// The subscriptions of one session.
struct Subscriptions {
  std::array<absl::btree_set<std::string, std::less<>>, kChannelKinds> names;  // by ChannelKind

  [[nodiscard]] absl::btree_set<std::string, std::less<>>& of(ChannelKind kind) {
    return names[static_cast<std::size_t>(kind)];
  }
  /// Returns the count in the reply of SUBSCRIBE. Shard channels count separately.
  [[nodiscard]] std::size_t count_with(ChannelKind kind) const {
    return kind == ChannelKind::kShard ? names[2].size() : names[0].size() + names[1].size();
  }
  [[nodiscard]] bool empty() const {
    return names[0].empty() && names[1].empty() && names[2].empty();
  }
};

/// Belongs to the thread that holds the turn. Does not own the sessions: leave_all() must be called
/// before a session ends.
class Channels {
 public:
  /// Returns false if the session was subscribed already.
  bool subscribe(Session& session, ChannelKind kind, std::string_view name);
  /// Returns false if the session was not subscribed.
  bool unsubscribe(Session& session, ChannelKind kind, std::string_view name);
  /// Removes all subscriptions of a session. Needs no memory.
  void leave_all(Session& session);

  /// Creates a message for each matching subscription, except where the outlet refuses it, and
  /// returns their number. The messages wait for send_before_replies().
  std::size_t publish(ChannelKind kind, std::string_view channel, std::string_view message);
  /// The place of a message among the replies of its receiver.
  enum class Place : std::uint8_t {
    kNow,           // behind the replies so far
    kAfterReply,    // behind the reply of the running request
    kAtEndOfBatch,  // behind all replies of the commit batch
  };
  /// Creates a message for one session, except if its outlet refuses it. No rollback removes it.
  void notify(const Session& to, std::vector<Reply> parts, Place place);

  /// MONITOR: the session gets the lines of publish_to_monitors() until leave_all(), except while
  /// CLIENT REPLY is OFF.
  void add_monitor(Session& session);
  [[nodiscard]] bool has_monitors() const { return !monitors_.empty(); }
  void publish_to_monitors(const std::string& line);

  [[nodiscard]] std::size_t waiting() const { return messages_.size(); }
  /// Removes the messages published since there were `count`, but not those of notify() and
  /// publish_to_monitors().
  void roll_back_to(std::size_t count);
  /// Sends the messages, except late ones to outlets without order. Does not throw; a message is
  /// lost if its outlet has no memory for it.
  void send_before_replies();
  /// Sends the others.
  void send_after_replies();

  /// Returns the names with subscribers, in ascending order.
  [[nodiscard]] std::vector<std::string> names(ChannelKind kind) const;
  [[nodiscard]] std::size_t count(ChannelKind kind) const { return of(kind).size(); }
  [[nodiscard]] std::size_t subscribers(ChannelKind kind, std::string_view name) const;

 private:
  struct Message {
    std::shared_ptr<Outlet> to;
    Reply text;
    std::uint64_t after_replies;
    bool is_late = false;   // behind a reply that has not been sent
    bool is_final = false;  // no rollback removes it
  };
  using Subscribers = std::vector<Session*>;  // in order of subscription
  using ByName = absl::btree_map<std::string, Subscribers, std::less<>>;

  void add_message(const Session& to, Reply message, Place place = Place::kNow,
                   bool is_final = false);
  static void push(Message& message);
  [[nodiscard]] ByName& of(ChannelKind kind) { return channels_[static_cast<std::size_t>(kind)]; }

  [[nodiscard]] const ByName& of(ChannelKind kind) const {
    return channels_[static_cast<std::size_t>(kind)];
  }

  std::array<ByName, kChannelKinds> channels_;
  Subscribers monitors_;
  std::vector<Message> messages_;
  bool are_sorted_ = true;  // the messages of a session, by after_replies
};

}  // namespace rushgate
