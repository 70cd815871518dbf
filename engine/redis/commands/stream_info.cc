// XINFO: https://redis.io/docs/latest/commands/xinfo-stream/
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/help_reply.h"
#include "engine/redis/commands/reply_allowance.h"
#include "engine/redis/commands/stream_arguments.h"
#include "engine/redis/commands/stream_errors.h"

namespace rushgate {
namespace {

/// Finds the stream, or returns an error.
std::optional<Reply> find_existing_stream(CommandContext& context, Object*& object) {
  if (!context.find(context[2], ValueType::kStream, object)) return errors::wrong_type();
  if (object == nullptr) return errors::no_such_key();
  return std::nullopt;
}

class MapBuilder {
 public:
  MapBuilder& add(std::string_view key, Reply value) {
    elements_.push_back(Reply::bulk(key));
    elements_.push_back(std::move(value));
    return *this;
  }
  MapBuilder& add(std::string_view key, std::uint64_t value) {
    return add(key, Reply::integer(static_cast<std::int64_t>(value)));
  }
  Reply build() { return Reply::map(std::move(elements_)); }

 private:
  std::vector<Reply> elements_;
};

Reply entries_read_reply(const StreamGroup& group) {
  return group.entries_read == StreamGroup::kEntriesReadUnknown
             ? Reply::nil()
             : Reply::integer(group.entries_read);
}

Reply lag_reply(const Stream& stream, const StreamGroup& group) {
  const auto lag = stream.lag(group);
  return lag ? Reply::integer(*lag) : Reply::nil();
}

// ---- XINFO STREAM ----

/// There is no radix tree here. `keys` are the nodes of Redis, and the size of its tree is
/// estimated.
void add_counters(const StreamLog& log, std::uint64_t keys, MapBuilder& info) {
  constexpr std::uint64_t kTreeOfOneKey = 2;
  const std::uint64_t tree_nodes = keys == 1 ? kTreeOfOneKey : keys + (keys == 0 ? 1 : 2);
  info.add("length", log.length())
      .add("radix-tree-keys", keys)
      .add("radix-tree-nodes", tree_nodes)
      .add("last-generated-id", id_reply(log.last_id()))
      .add("max-deleted-entry-id", id_reply(log.max_deleted_id()))
      .add("entries-added", log.entries_added())
      .add("recorded-first-entry-id", id_reply(log.first_id()));
}

absl::Status count_nodes(const StreamLog& log, const EncodingLimits& limits, std::uint64_t& nodes) {
  constexpr std::uint64_t kEntriesMax = 1'000;  // bounds the time
  return log.count_nodes(limits, kEntriesMax, nodes);
}

Reply stream_summary(const Stream& stream, const EncodingLimits& limits) {
  Reply first;
  Reply last;
  const auto read_one = [](Reply& entry_read) {
    return [&entry_read](const StreamEntry& entry) {
      entry_read = entry_reply(entry);
      return false;
    };
  };
  absl::Status read = stream.log().read(StreamId::min(), StreamId::max(), read_one(first));
  if (read.ok()) read = stream.log().read_back(StreamId::min(), StreamId::max(), read_one(last));
  std::uint64_t nodes = 0;
  if (read.ok()) read = count_nodes(stream.log(), limits, nodes);
  if (!read.ok()) return errors::store_failed(read);

  MapBuilder info;
  add_counters(stream.log(), nodes, info);
  return info.add("groups", stream.groups().size())
      .add("first-entry", std::move(first))
      .add("last-entry", std::move(last))
      .build();
}

// ---- XINFO STREAM … FULL: lists of at most `count` entries; 0: no limit ----

Reply pending_of_group(const StreamGroup& group, std::size_t count) {
  std::vector<Reply> pending;
  for (const auto& [id, entry] : group.pending) {
    if (count != 0 && pending.size() == count) break;
    pending.push_back(Reply::array({id_reply(id), Reply::bulk(entry.consumer->name),
                                    Reply::integer(entry.delivered_ms),
                                    Reply::integer(static_cast<std::int64_t>(entry.deliveries))}));
  }
  return Reply::array(std::move(pending));
}

Reply pending_of_consumer(const StreamGroup& group, const StreamConsumer& consumer,
                          std::size_t count) {
  std::vector<Reply> pending;
  for (const StreamId id : consumer.pending) {
    if (count != 0 && pending.size() == count) break;
    const PendingEntry& entry = *group.find_pending(id);
    pending.push_back(Reply::array({id_reply(id), Reply::integer(entry.delivered_ms),
                                    Reply::integer(static_cast<std::int64_t>(entry.deliveries))}));
  }
  return Reply::array(std::move(pending));
}

Reply full_consumers(const StreamGroup& group, std::size_t count) {
  std::vector<Reply> consumers;
  for (const auto& [name, consumer] : group.consumers) {
    consumers.push_back(MapBuilder()
                            .add("name", Reply::bulk(name))
                            .add("seen-time", Reply::integer(consumer->seen_ms))
                            .add("pel-count", consumer->pending.size())
                            .add("pending", pending_of_consumer(group, *consumer, count))
                            .build());
  }
  return Reply::array(std::move(consumers));
}

Reply full_groups(const Stream& stream, std::size_t count) {
  std::vector<Reply> groups;
  for (const auto& [name, group] : stream.groups()) {
    groups.push_back(MapBuilder()
                         .add("name", Reply::bulk(name))
                         .add("last-delivered-id", id_reply(group->last_delivered))
                         .add("entries-read", entries_read_reply(*group))
                         .add("lag", lag_reply(stream, *group))
                         .add("pel-count", group->pending.size())
                         .add("pending", pending_of_group(*group, count))
                         .add("consumers", full_consumers(*group, count))
                         .build());
  }
  return Reply::array(std::move(groups));
}

Reply full_stream(const Stream& stream, std::size_t count, const EncodingLimits& limits,
                  ReplyAllowance allowance) {
  std::vector<Reply> entries;
  absl::Status read =
      stream.log().read(StreamId::min(), StreamId::max(), [&](const StreamEntry& entry) {
        entries.push_back(entry_reply(entry));
        if (!allowance.take(memory_bytes(entries.back()))) return false;
        return count == 0 || entries.size() < count;
      });
  std::uint64_t nodes = 0;
  if (read.ok()) read = count_nodes(stream.log(), limits, nodes);
  if (!read.ok()) return errors::store_failed(read);
  if (allowance.is_exceeded()) return errors::reply_too_large();
  MapBuilder info;
  add_counters(stream.log(), nodes, info);
  return info.add("entries", Reply::array(std::move(entries)))
      .add("groups", full_groups(stream, count))
      .build();
}

Reply xinfo_stream_command(CommandContext& context) {
  constexpr std::int64_t kCountDefault = 10;
  Object* object = nullptr;
  if (auto error = find_existing_stream(context, object)) return std::move(*error);
  const EncodingLimits& limits = context.keyspace().limits();
  if (context.size() == 3) return stream_summary(object->stream(), limits);

  Arguments arguments(context.request(), 3);
  const bool has_count = context.size() == 6;
  bool is_right = (context.size() == 4 || has_count) && arguments.accept("FULL");
  if (has_count) is_right = is_right && arguments.accept("COUNT");
  if (!is_right) return errors::unknown_subcommand_or_arity("XINFO", context[1]);
  std::int64_t count = has_count ? arguments.next_integer() : kCountDefault;
  if (!arguments.ok()) return arguments.take_error();
  if (count < 0) count = kCountDefault;
  return full_stream(object->stream(), static_cast<std::size_t>(count), limits,
                     ReplyAllowance(context.session().reply_bytes_max));
}

Reply xinfo_groups_command(CommandContext& context) {
  Object* object = nullptr;
  if (auto error = find_existing_stream(context, object)) return std::move(*error);
  const Stream& stream = object->stream();
  std::vector<Reply> groups;
  for (const auto& [name, group] : stream.groups()) {
    groups.push_back(MapBuilder()
                         .add("name", Reply::bulk(name))
                         .add("consumers", group->consumers.size())
                         .add("pending", group->pending.size())
                         .add("last-delivered-id", id_reply(group->last_delivered))
                         .add("entries-read", entries_read_reply(*group))
                         .add("lag", lag_reply(stream, *group))
                         .build());
  }
  return Reply::array(std::move(groups));
}

Reply xinfo_consumers_command(CommandContext& context) {
  Object* object = nullptr;
  if (auto error = find_existing_stream(context, object)) return std::move(*error);
  const StreamGroup* group = object->stream().groups().find(context[3]);
  if (group == nullptr) return errors::no_such_group(context[2], context[3]);
  std::vector<Reply> consumers;
  for (const auto& [name, consumer] : group->consumers) {
    const std::int64_t idle_ms = std::max(context.now_ms() - consumer->seen_ms, std::int64_t{0});
    consumers.push_back(MapBuilder()
                            .add("name", Reply::bulk(name))
                            .add("pending", consumer->pending.size())
                            .add("idle", Reply::integer(idle_ms))
                            .build());
  }
  return Reply::array(std::move(consumers));
}

Reply xinfo_help_command(CommandContext&) {
  static constexpr std::string_view kLines[] = {
      "XINFO <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
      "CONSUMERS <key> <groupname>",
      "    Show consumers of <groupname>.",
      "GROUPS <key>",
      "    Show the stream consumer groups.",
      "STREAM <key> [FULL [COUNT <count>]",
      "    Show information about the stream.",
      "HELP",
      "    Prints this help.",
  };
  return help_reply(kLines);
}

// ---- The records ----

constexpr CommandSpec kStreamInfoCommands[] = {
    {.name = "xinfo",
     .arity = -2,
     .flags = kContainer,
     .summary = "Describes streams, groups and consumers.",
     .since = "5.0.0",
     .complexity = "Depends on the subcommand."},
    {.name = "xinfo|stream",
     .function = xinfo_stream_command,
     .arity = -3,
     .flags = kReadOnly,
     .syntax = "key [FULL [COUNT count]]",
     .summary = "Describes a stream.",
     .since = "5.0.0",
     .complexity = "O(1), with FULL O(N), N entries returned"},
    {.name = "xinfo|groups",
     .function = xinfo_groups_command,
     .arity = 3,
     .flags = kReadOnly,
     .syntax = "key",
     .summary = "Describes the groups of a stream.",
     .since = "5.0.0",
     .complexity = "O(N), N groups"},
    {.name = "xinfo|consumers",
     .function = xinfo_consumers_command,
     .arity = 4,
     .flags = kReadOnly,
     .syntax = "key groupname",
     .summary = "Describes the consumers of a group.",
     .since = "5.0.0",
     .complexity = "O(N), N consumers"},
    help_record("xinfo|help", xinfo_help_command, "5.0.0"),
};

}  // namespace

CommandFamily stream_info_commands() { return {CommandGroup::kStream, kStreamInfoCommands}; }

}  // namespace rushgate
