// Commands on consumer groups, except pending entries:
// https://redis.io/docs/latest/commands/?group=stream
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/help_reply.h"
#include "engine/redis/commands/reply_allowance.h"
#include "engine/redis/commands/stream_arguments.h"
#include "engine/redis/commands/stream_errors.h"
#include "engine/redis/keyspace/streams.h"

namespace rushgate {
namespace {

// ---- XGROUP ----

struct GroupOptions {
  bool make_stream = false;  // MKSTREAM
  std::int64_t entries_read = StreamGroup::kEntriesReadUnknown;
};

GroupOptions read_group_options(Arguments& arguments, CommandContext& context,
                                bool may_make_stream) {
  GroupOptions options;
  while (!arguments.at_end()) {
    if (may_make_stream && arguments.accept("MKSTREAM")) {
      options.make_stream = true;
    } else if (arguments.left() >= 2 && arguments.accept("ENTRIESREAD")) {
      options.entries_read = arguments.next_integer();
      if (options.entries_read < StreamGroup::kEntriesReadUnknown)
        arguments.fail(errors::negative_entries_read());
    } else {
      arguments.fail(errors::unknown_subcommand_or_arity("XGROUP", context[1]));
    }
  }
  return options;
}

/// Finds the stream, and the group if needed, for a subcommand; returns an error if one is missing.
std::optional<Reply> find_stream_of_group(CommandContext& context, Object*& object) {
  if (!context.find(context[2], ValueType::kStream, object)) return errors::wrong_type();
  if (object == nullptr) return errors::key_required_by_xgroup();
  return std::nullopt;
}

std::optional<Reply> find_existing_group(CommandContext& context, Object*& object,
                                         StreamGroup*& group) {
  if (auto error = find_stream_of_group(context, object)) return error;
  group = object->stream().groups().find(context[3]);
  if (group == nullptr) return errors::no_such_group(context[2], context[3]);
  return std::nullopt;
}

Reply xgroup_create_command(CommandContext& context) {
  Arguments arguments(context.request(), 5);
  const GroupOptions options = read_group_options(arguments, context, true);
  if (!arguments.ok()) return arguments.take_error();
  Object* object = nullptr;
  auto error = find_stream_of_group(context, object);
  if (error && (!options.make_stream || *error == errors::wrong_type())) return std::move(*error);
  if (context.size() > 8) return errors::unknown_subcommand_or_arity("XGROUP", context[1]);

  const StreamId last = object == nullptr ? StreamId{} : object->stream().log().last_id();
  const auto id = errors::as_c_string(context[4]) == "$" ? last : parse_stream_id(context[4]);
  if (!id) return errors::invalid_stream_id();
  if (object == nullptr) object = &streams::create(context.db(), context[2]);
  if (object->stream().groups().find(context[3]) != nullptr) return errors::group_exists();
  streams::create_group(context.db(), *object, context[3], *id, options.entries_read);
  context.notify(kStreamEvents, "xgroup-create", context[2]);
  return Reply::ok();
}

Reply xgroup_setid_command(CommandContext& context) {
  Arguments arguments(context.request(), 5);
  const GroupOptions options = read_group_options(arguments, context, false);
  if (!arguments.ok()) return arguments.take_error();
  Object* object = nullptr;
  StreamGroup* group = nullptr;
  if (auto error = find_existing_group(context, object, group)) return std::move(*error);
  if (context.size() != 5 && context.size() != 7)
    return errors::unknown_subcommand_or_arity("XGROUP", context[1]);

  const bool is_last = errors::as_c_string(context[4]) == "$";
  const auto id = is_last ? object->stream().log().last_id() : parse_stream_bound(context[4]);
  if (!id) return errors::invalid_stream_id();
  streams::set_group_position(context.db(), *object, *group, *id, options.entries_read);
  context.notify(kStreamEvents, "xgroup-setid", context[2]);
  return Reply::ok();
}

Reply xgroup_destroy_command(CommandContext& context) {
  Object* object = nullptr;
  if (auto error = find_stream_of_group(context, object)) return std::move(*error);
  StreamGroup* group = object->stream().groups().find(context[3]);
  if (group == nullptr) return Reply::integer(0);
  streams::destroy_group(context.db(), *object, *group);
  context.notify(kStreamEvents, "xgroup-destroy", context[2]);
  return Reply::integer(1);
}

Reply xgroup_createconsumer_command(CommandContext& context) {
  Object* object = nullptr;
  StreamGroup* group = nullptr;
  if (auto error = find_existing_group(context, object, group)) return std::move(*error);
  if (group->find_consumer(context[4]) != nullptr) return Reply::integer(0);
  streams::create_consumer(context.db(), *object, *group, context[4]);
  context.notify(kStreamEvents, "xgroup-createconsumer", context[2]);
  return Reply::integer(1);
}

Reply xgroup_delconsumer_command(CommandContext& context) {
  Object* object = nullptr;
  StreamGroup* group = nullptr;
  if (auto error = find_existing_group(context, object, group)) return std::move(*error);
  StreamConsumer* consumer = group->find_consumer(context[4]);
  if (consumer == nullptr) return Reply::integer(0);
  const std::size_t pending = streams::remove_consumer(context.db(), *object, *group, *consumer);
  context.notify(kStreamEvents, "xgroup-delconsumer", context[2]);
  return Reply::integer(static_cast<std::int64_t>(pending));
}

Reply xgroup_help_command(CommandContext&) {
  static constexpr std::string_view kLines[] = {
      "XGROUP <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
      "CREATE <key> <groupname> <id|$> [option]",
      "    Create a new consumer group. Options are:",
      "    * MKSTREAM",
      "      Create the empty stream if it does not exist.",
      "    * ENTRIESREAD entries_read",
      "      Set the group's entries_read counter (internal use).",
      "CREATECONSUMER <key> <groupname> <consumer>",
      "    Create a new consumer in the specified group.",
      "DELCONSUMER <key> <groupname> <consumer>",
      "    Remove the specified consumer.",
      "DESTROY <key> <groupname>",
      "    Remove the specified group.",
      "SETID <key> <groupname> <id|$> [ENTRIESREAD entries_read]",
      "    Set the current group ID and entries_read counter.",
      "HELP",
      "    Prints this help.",
  };
  return help_reply(kLines);
}

// ---- XREADGROUP ----

/// A stream to read from.
struct Source {
  Object* object = nullptr;
  StreamGroup* group = nullptr;   // null: skip it
  std::optional<StreamId> after;  // position in the consumer's history; empty: new entries ('>')
};

Source find_source(CommandContext& context, const StreamReadRequest& read, std::size_t i,
                   Arguments& arguments) {
  Source source;
  const std::string_view key = read.key(context.request(), i);
  if (!context.may_serve(key)) return source;
  const bool is_stream = context.find(key, ValueType::kStream, source.object);
  if (source.object != nullptr) source.group = source.object->stream().groups().find(*read.group);
  if (source.group == nullptr) {
    if (context.ready_key()) {
      arguments.fail(source.object == nullptr ? errors::key_gone_while_blocked()
                                              : errors::group_gone_while_blocked());
    } else {
      arguments.fail(is_stream ? errors::no_such_key_or_group_to_read(key, *read.group)
                               : errors::wrong_type());
    }
    return source;
  }

  const std::string_view text = errors::as_c_string(read.id(context.request(), i));
  if (text == ">") return source;
  if (text == "$") arguments.fail(errors::last_id_in_xreadgroup());
  const auto id = parse_stream_id(text);
  if (!id) arguments.fail(errors::invalid_stream_id());
  if (id != StreamId::max())
    source.after = id.value_or(StreamId{});  // Redis uses the greatest id for '>'
  return source;
}

/// Advances the group past the entries `ids`, which follow its position.
void advance_group(Database& db, const Source& source, const std::vector<StreamId>& ids) {
  const Stream& stream = source.object->stream();
  std::int64_t entries_read = source.group->entries_read;
  for (const StreamId id : ids) {
    if (entries_read != StreamGroup::kEntriesReadUnknown && !stream.may_have_gap_from(id)) {
      entries_read = static_cast<std::int64_t>(static_cast<std::uint64_t>(entries_read) +
                                               1);  // ENTRIESREAD may have any value
    } else {
      entries_read = stream.entries_up_to(id);
    }
  }
  streams::set_group_position(db, *source.object, *source.group, ids.back(), entries_read);
}

using Delivery = StreamGroup::Deliveries::value_type;

/// Claims a pending entry. If the entry was deleted from the stream, `claimed` stays nil, and the
/// group forgets it, as for XCLAIM.
absl::Status claim(CommandContext& context, const StreamReadRequest& read, const Source& source,
                   StreamId id, Reply& claimed) {
  const std::int64_t now_ms = context.now_ms();
  const PendingEntry& pending = *source.group->find_pending(id);
  absl::Status status = source.object->stream().log().read(id, id, [&](const StreamEntry& entry) {
    claimed = delivered_entry_reply(entry, now_ms - pending.delivered_ms, pending.deliveries);
    return false;
  });
  if (!status.ok()) return status;
  if (claimed.is_nil()) {
    streams::acknowledge(context.db(), *source.object, *source.group, id);
    return status;
  }
  const PendingEntry taken{&seen_consumer(context, *source.object, *source.group, read.consumer),
                           now_ms, pending.deliveries + 1};
  streams::assign_pending(context.db(), *source.object, *source.group, id, taken);
  return status;
}

/// Returns the first deliveries after `after`, at most `count_max`, of times up to `until_ms`.
std::vector<Delivery> deliveries_after(const StreamGroup::Deliveries& deliveries,
                                       const Delivery& after, std::int64_t until_ms,
                                       std::size_t count_max) {
  std::vector<Delivery> found;
  for (auto at = deliveries.upper_bound(after); at != deliveries.end(); ++at) {
    if (at->first > until_ms || found.size() == count_max) break;
    found.push_back(*at);
  }
  return found;
}

/// Claims the entries that are idle for long enough, those first that are idle for longest.
absl::Status claim_idle(CommandContext& context, const StreamReadRequest& read,
                        const Source& source, ReplyAllowance& allowance,
                        std::vector<Reply>& entries) {
  constexpr std::size_t kPortion = 64;
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  constexpr Delivery kFirst = {std::numeric_limits<std::int64_t>::min(), StreamId::min()};
  const std::int64_t now_ms = context.now_ms();
  const std::int64_t until_ms = now_ms - *read.claim_idle_ms;
  const auto& deliveries = streams::ordered_deliveries(context.db(), *source.object, *source.group);
  // Claimed entries become deliveries of now_ms. So those of now_ms are listed before.
  std::vector<Delivery> current;
  if (until_ms == now_ms)
    current = deliveries_after(deliveries, {now_ms - 1, StreamId::max()}, now_ms, kAll);

  const auto claim_all = [&](const std::vector<Delivery>& portion) {
    for (const auto& [delivered_ms, id] : portion) {
      if (read.is_full(entries.size()) || allowance.is_exceeded()) break;
      Reply claimed;
      RETURN_IF_ERROR(claim(context, read, source, id, claimed));
      if (claimed.is_nil()) continue;
      if (!allowance.take(memory_bytes(claimed))) break;
      entries.push_back(std::move(claimed));
    }
    return absl::OkStatus();
  };
  for (Delivery last = kFirst; !read.is_full(entries.size()) && !allowance.is_exceeded();) {
    const std::vector<Delivery> portion =
        deliveries_after(deliveries, last, std::min(until_ms, now_ms - 1), kPortion);
    if (portion.empty()) return claim_all(current);
    last = portion.back();
    RETURN_IF_ERROR(claim_all(portion));
  }
  return absl::OkStatus();
}

/// Returns the time at which the next pending entry will be idle for long enough; empty without
/// one.
std::optional<std::int64_t> next_claim_ms(CommandContext& context, const StreamReadRequest& read,
                                          const Source& source) {
  const std::int64_t until_ms = context.now_ms() - *read.claim_idle_ms;
  const auto& deliveries = streams::ordered_deliveries(context.db(), *source.object, *source.group);
  const auto next = deliveries.upper_bound({until_ms, StreamId::max()});
  if (next == deliveries.end()) return std::nullopt;
  return checked_add(next->first, *read.claim_idle_ms);
}

/// Delivers entries that no consumer of the group has received.
absl::Status read_new(CommandContext& context, const StreamReadRequest& read, const Source& source,
                      ReplyAllowance& allowance, std::vector<Reply>& entries) {
  const auto first = source.group->last_delivered.next();
  if (!first) return absl::OkStatus();
  std::vector<StreamId> ids;
  absl::Status status =
      source.object->stream().log().read(*first, StreamId::max(), [&](const StreamEntry& entry) {
        ids.push_back(entry.id());
        entries.push_back(read.claim_idle_ms ? delivered_entry_reply(entry, 0, 0)
                                             : entry_reply(entry));
        if (!allowance.take(memory_bytes(entries.back()))) return false;
        return !read.is_full(entries.size());
      });
  if (!status.ok() || allowance.is_exceeded() || ids.empty()) return status;

  StreamConsumer& consumer = seen_consumer(context, *source.object, *source.group, read.consumer);
  advance_group(context.db(), source, ids);
  if (read.no_ack) return status;
  const PendingEntry pending{&consumer, context.now_ms(), 1};
  for (const StreamId id : ids)
    streams::assign_pending(context.db(), *source.object, *source.group, id, pending);
  return status;
}

/// Delivers claimed entries, then new ones.
absl::Status read_claimed_and_new(CommandContext& context, const StreamReadRequest& read,
                                  const Source& source, ReplyAllowance& allowance,
                                  std::vector<Reply>& entries) {
  if (read.claim_idle_ms) {
    absl::Status claimed = claim_idle(context, read, source, allowance, entries);
    if (!claimed.ok() || allowance.is_exceeded() || read.is_full(entries.size())) return claimed;
  }
  return read_new(context, read, source, allowance, entries);
}

/// Delivers the consumer's unacknowledged entries again. [id, nil] stands for an entry that was
/// deleted since.
absl::Status read_history(CommandContext& context, const StreamReadRequest& read,
                          const Source& source, ReplyAllowance& allowance,
                          std::vector<Reply>& entries) {
  StreamConsumer& consumer = seen_consumer(context, *source.object, *source.group, read.consumer);
  const auto first = source.after->next();
  if (!first) return absl::OkStatus();
  for (auto at = consumer.pending.lower_bound(*first); at != consumer.pending.end(); ++at) {
    if (read.is_full(entries.size())) break;
    const StreamId id = *at;
    Reply entry_read;
    const absl::Status status =
        source.object->stream().log().read(id, id, [&](const StreamEntry& entry) {
          entry_read = entry_reply(entry);
          return false;
        });
    if (!status.ok()) return status;
    const bool is_deleted = entry_read.is_nil();
    if (is_deleted) entry_read = Reply::array({id_reply(id), Reply::nil_array()});
    entries.push_back(std::move(entry_read));
    if (!allowance.take(memory_bytes(entries.back()))) break;
    if (is_deleted) continue;
    PendingEntry pending = *source.group->find_pending(id);
    pending.delivered_ms = context.now_ms();
    ++pending.deliveries;
    streams::assign_pending(context.db(), *source.object, *source.group, id, pending);
  }
  return absl::OkStatus();
}

/// Returns the times at which entries can be claimed.
std::vector<TimedRetry> timed_retries(CommandContext& context, const StreamReadRequest& read,
                                      std::span<const Source> sources) {
  std::vector<TimedRetry> retries;
  if (!read.claim_idle_ms || !read.timeout_ms || !context.may_wait()) return retries;
  for (std::size_t i = 0; i < read.streams; ++i) {
    if (sources[i].group == nullptr) continue;
    if (const auto at_ms = next_claim_ms(context, read, sources[i]))
      retries.push_back({std::string(read.key(context.request(), i)), *at_ms});
  }
  return retries;
}

Reply xreadgroup_command(CommandContext& context) {
  Arguments arguments(context.request());
  const StreamReadRequest read =
      read_stream_read_request(arguments, context.request(), true, context.in_script());
  if (!arguments.ok()) return arguments.take_error();
  absl::InlinedVector<Source, 2> sources;
  for (std::size_t i = 0; i < read.streams && arguments.ok(); ++i) {
    sources.push_back(find_source(context, read, i, arguments));
  }
  if (!arguments.ok()) return arguments.take_error();

  Changes& changes = context.db().changes();
  const Changes::Savepoint savepoint = changes.savepoint();
  std::vector<Reply> keys_and_entries;
  ReplyAllowance allowance(context.session().reply_bytes_max);
  for (std::size_t i = 0; i < read.streams; ++i) {
    const Source& source = sources[i];
    if (source.group == nullptr) continue;
    std::vector<Reply> entries;
    const absl::Status status =
        source.after ? read_history(context, read, source, allowance, entries)
                     : read_claimed_and_new(context, read, source, allowance, entries);
    if (!status.ok() || allowance.is_exceeded()) {
      changes.roll_back_to(savepoint);
      return status.ok() ? errors::reply_too_large() : errors::store_failed(status);
    }
    if (entries.empty() && !source.after) {  // an empty history is a reply, too
      const StreamId after = source.group->last_delivered;
      if (!ends_waiting(context, source.object->stream().log(), after)) continue;
      seen_consumer(context, *source.object, *source.group, read.consumer);
    }
    keys_and_entries.push_back(Reply::bulk(read.key(context.request(), i)));
    keys_and_entries.push_back(Reply::array(std::move(entries)));
  }
  if (keys_and_entries.empty())
    return wait_for_entries(context, read, {}, timed_retries(context, read, sources));
  return streams_reply(context, std::move(keys_and_entries));
}

Reply xack_command(CommandContext& context) {
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kStream, object)) return errors::wrong_type();
  StreamGroup* group = object == nullptr ? nullptr : object->stream().groups().find(context[2]);
  if (group == nullptr) return Reply::integer(0);
  Arguments arguments(context.request(), 3);
  const StreamIds ids = read_stream_ids(arguments, context.request(), 3);
  if (!arguments.ok()) return arguments.take_error();

  std::int64_t acknowledged = 0;
  for (const StreamId id : ids) {
    if (streams::acknowledge(context.db(), *object, *group, id)) ++acknowledged;
  }
  return Reply::integer(acknowledged);
}

// ---- The records ----

constexpr CommandSpec kStreamGroupCommands[] = {
    {.name = "xgroup",
     .arity = -2,
     .flags = kContainer,
     .summary = "Manages consumer groups.",
     .since = "5.0.0",
     .complexity = "Depends on the subcommand."},
    {.name = "xgroup|create",
     .function = xgroup_create_command,
     .arity = -5,
     .flags = kWrite | kDenyOom,
     .syntax = "key groupname <id | $> [MKSTREAM] [ENTRIESREAD entries_read]",
     .summary = "Creates a consumer group.",
     .since = "5.0.0",
     .complexity = "O(1)"},
    {.name = "xgroup|setid",
     .function = xgroup_setid_command,
     .arity = -5,
     .flags = kWrite,
     .syntax = "key groupname <id | $> [ENTRIESREAD entries_read]",
     .summary = "Sets a group's position.",
     .since = "5.0.0",
     .complexity = "O(1)"},
    {.name = "xgroup|destroy",
     .function = xgroup_destroy_command,
     .arity = 4,
     .flags = kWrite,
     .syntax = "key groupname",
     .summary = "Removes a consumer group.",
     .since = "5.0.0",
     .complexity = "O(N), N pending entries of the group"},
    {.name = "xgroup|createconsumer",
     .function = xgroup_createconsumer_command,
     .arity = 5,
     .flags = kWrite | kDenyOom,
     .syntax = "key groupname consumername",
     .summary = "Creates a consumer.",
     .since = "6.2.0",
     .complexity = "O(1)"},
    {.name = "xgroup|delconsumer",
     .function = xgroup_delconsumer_command,
     .arity = 5,
     .flags = kWrite,
     .syntax = "key groupname consumername",
     .summary = "Removes a consumer and its pending entries.",
     .since = "5.0.0",
     .complexity = "O(1)"},
    help_record("xgroup|help", xgroup_help_command, "5.0.0"),
    {.name = "xreadgroup",
     .function = xreadgroup_command,
     .arity = -7,
     .flags = kWrite,
     .syntax = "GROUP group consumer [COUNT count] [BLOCK milliseconds] [CLAIM "
               "min-idle-time]@8.4.0 [NOACK] STREAMS key [key ...] id [id ...]",
     .summary = "Delivers new entries of a group to a consumer, or returns its pending ones; "
                "blocks if BLOCK is given. With CLAIM, first delivers entries that have been "
                "pending for so many milliseconds, and forgets deleted ones.",
     .since = "5.0.0",
     .complexity = "O(N), N entries returned"},
    {.name = "xack",
     .function = xack_command,
     .arity = -4,
     .flags = kWrite | kFast,
     .syntax = "key group id [id ...]",
     .summary = "Acknowledges pending entries.",
     .since = "5.0.0",
     .complexity = "O(N), N ids"},
};

}  // namespace

CommandFamily stream_group_commands() { return {CommandGroup::kStream, kStreamGroupCommands}; }

}  // namespace rushgate
