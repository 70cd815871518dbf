#include "engine/redis/commands/publishing.h"

#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"

namespace rushgate {

std::size_t publish_with_undo(Channels& channels, Changes& changes, ChannelKind kind,
                              std::string_view channel, std::string_view message) {
  const std::size_t before = channels.waiting();
  absl::Cleanup roll_back = [&] { channels.roll_back_to(before); };
  changes.reserve_undo();
  const std::size_t reached = channels.publish(kind, channel, message);
  if (reached > 0) changes.push_undo([&channels, before] { channels.roll_back_to(before); });
  std::move(roll_back).Cancel();
  return reached;
}

void KeyEventPublisher::key_event(std::uint16_t channels, std::string_view event, std::uint8_t db,
                                  std::string_view key) {
  if ((channels & kEventsByKey) != 0) publish("__keyspace@", db, key, event);
  if ((channels & kEventsByName) != 0) publish("__keyevent@", db, event, key);
}

void KeyEventPublisher::publish(std::string_view kind, std::uint8_t db, std::string_view name,
                                std::string_view message) {
  const bool has_subscribers =
      channels_.count(ChannelKind::kPlain) + channels_.count(ChannelKind::kPattern) > 0;
  if (!has_subscribers) return;
  std::string channel(kind);
  channel.append(std::to_string(db)).append("__:").append(name);
  publish_with_undo(channels_, changes_, ChannelKind::kPlain, channel, message);
}

}  // namespace rushgate
