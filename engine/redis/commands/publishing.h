// Messages that a rollback withdraws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/redis/commands/channels.h"
#include "engine/redis/keyspace/changes.h"
#include "engine/redis/keyspace/key_events.h"

namespace rushgate {

/// As Channels::publish(). Records an undo step that withdraws the messages. Publishes nothing if
/// it throws (out of memory).
std::size_t publish_with_undo(Channels& channels, Changes& changes, ChannelKind kind,
                              std::string_view channel, std::string_view message);

/// Publishes the events of a keyspace to their channels.
class KeyEventPublisher final : public KeyEventListener {
 public:
  /// Does not own its arguments.
  KeyEventPublisher(Channels& channels, Changes& changes)
      : channels_(channels), changes_(changes) {}

  void key_event(std::uint16_t channels, std::string_view event, std::uint8_t db,
                 std::string_view key) override;

 private:
  void publish(std::string_view kind, std::uint8_t db, std::string_view name,
               std::string_view message);

  Channels& channels_;
  Changes& changes_;
};

}  // namespace rushgate
