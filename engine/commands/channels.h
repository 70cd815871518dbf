// Who has subscribed to what: https://redis.io/docs/latest/develop/interact/pubsub/
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
#include "engine/client/reply.h"
#include "engine/commands/outlet.h"

namespace rushgate {

struct Session;

enum class ChannelKind : std::uint8_t { kPlain, kPattern, kShard };
inline constexpr std::size_t kChannelKinds = 3;

/// What one session has subscribed to.
struct Subscriptions {
  std::array<absl::btree_set<std::string, std::less<>>, kChannelKinds> names;  // by ChannelKind

  [[nodiscard]] absl::btree_set<std::string, std::less<>>& of(ChannelKind kind) {
    return names[static_cast<std::size_t>(kind)];
  }
  /// As SUBSCRIBE and the like count: shard channels for themselves.
  [[nodiscard]] std::size_t count_with(ChannelKind kind) const {
    return kind == ChannelKind::kShard ? names[2].size() : names[0].size() + names[1].size();
  }
  [[nodiscard]] bool empty() const {
    return names[0].empty() && names[1].empty() && names[2].empty();
  }
};

/// Belongs to whoever has the turn. Does not own the sessions: each must leave_all() before it
/// ends.
class Channels {
 public:
  /// False if it had already.
  bool subscribe(Session& session, ChannelKind kind, std::string_view name);
  /// False if it had not.
  bool unsubscribe(Session& session, ChannelKind kind, std::string_view name);
  /// Needs no memory.
  void leave_all(Session& session);

  /// Makes a message for each subscription that it reaches, and returns how many these are. The
  /// messages wait to be sent, except those that their outlet refuses.
  std::size_t publish(ChannelKind kind, std::string_view channel, std::string_view message);
  [[nodiscard]] std::size_t waiting() const { return messages_.size(); }
  /// Those published since there were `count` are taken back.
  void take_back_to(std::size_t count);
  /// Throws nothing: a message for which the outlet has no memory is lost.
  void send();

  /// Names, ascending, that somebody has subscribed to.
  [[nodiscard]] std::vector<std::string> names(ChannelKind kind) const;
  [[nodiscard]] std::size_t count(ChannelKind kind) const { return of(kind).size(); }
  [[nodiscard]] std::size_t subscribers(ChannelKind kind, std::string_view name) const;

 private:
  struct Message {
    std::shared_ptr<Outlet> to;
    Reply text;
    std::uint64_t after_replies;
  };
  using Subscribers = std::vector<Session*>;  // in order of their coming
  using ByName = absl::btree_map<std::string, Subscribers, std::less<>>;

  void add_message(const Session& to, std::vector<Reply> parts);
  [[nodiscard]] ByName& of(ChannelKind kind) { return channels_[static_cast<std::size_t>(kind)]; }

  [[nodiscard]] const ByName& of(ChannelKind kind) const {
    return channels_[static_cast<std::size_t>(kind)];
  }

  std::array<ByName, kChannelKinds> channels_;
  std::vector<Message> messages_;
};

}  // namespace rushgate
