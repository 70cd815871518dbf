// Commands on streams, except consumer groups:
// https://redis.io/docs/latest/commands/?group=stream
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/reply_allowance.h"
#include "engine/redis/commands/stream_arguments.h"
#include "engine/redis/commands/stream_errors.h"
#include "engine/redis/keyspace/streams.h"

namespace rushgate {
namespace {

// ---- XADD ----

constexpr std::size_t kEntryBytesMax = std::size_t{1}
                                       << 30;  // as in Redis, for names and values together

struct EntryAddRequest {
  bool make_stream = true;  // NOMKSTREAM
  TrimOptions trim;
  bool automatic = false;      // '*'
  bool automatic_seq = false;  // '<ms>-*'
  StreamId id;
  absl::InlinedVector<StreamField, 8> fields;
  std::size_t bytes = 0;
};

void read_id(Arguments& arguments, EntryAddRequest& add) {
  std::string_view text = errors::as_c_string(arguments.next());
  add.automatic = text == "*";
  if (add.automatic) return;
  const auto dash = text.find('-');
  add.automatic_seq = dash != std::string_view::npos && text.substr(dash) == "-*";
  if (add.automatic_seq) text = text.substr(0, dash);
  const auto id = parse_stream_id(text);
  if (!id) arguments.fail(errors::invalid_stream_id());
  add.id = id.value_or(StreamId{});
}

EntryAddRequest read_entry_add(Arguments& arguments, const EncodingLimits& limits) {
  EntryAddRequest add;
  while (!arguments.at_end()) {
    if (add.trim.accept(arguments)) continue;
    if (!arguments.accept("NOMKSTREAM")) break;
    add.make_stream = false;
  }
  read_id(arguments, add);
  add.trim.check(arguments, TrimOptions::Use::kMayTrim, limits);
  if (arguments.left() == 0 || arguments.left() % 2 != 0)
    arguments.fail(errors::wrong_arity("xadd"));
  if (!add.automatic && !add.automatic_seq && add.id == StreamId{})
    arguments.fail(errors::id_is_zero());
  while (!arguments.at_end()) {
    const std::string_view name = arguments.next();
    const std::string_view value = arguments.next();
    add.fields.emplace_back(name, value);
    add.bytes += name.size() + value.size();
  }
  return add;
}

/// Returns the id of the new entry in a stream with the last id `last`; empty if it would not be
/// greater.
std::optional<StreamId> choose_id(const EntryAddRequest& add, StreamId last, std::int64_t now_ms) {
  if (add.automatic) return StreamLog::id_after(last, now_ms);
  StreamId id = add.id;
  if (add.automatic_seq && id.ms == last.ms) id.seq = last.seq + 1;
  if (id <= last) return std::nullopt;
  return id;
}

// ---- XRANGE and XREVRANGE ----

/// Reads COUNT count; empty without it.
std::optional<std::int64_t> read_count(Arguments& arguments) {
  std::optional<std::int64_t> count;
  while (!arguments.at_end()) {
    if (arguments.left() < 2 || !arguments.accept("COUNT")) arguments.fail(errors::syntax());
    count = std::max(arguments.next_integer(), std::int64_t{0});
  }
  return count;
}

Reply range_reply(CommandContext& context, std::size_t start_at, std::size_t end_at) {
  Arguments arguments(context.request(), 4);
  const StreamId start = interval_start(arguments, context[start_at]);
  const StreamId end = interval_end(arguments, context[end_at]);
  const auto count = read_count(arguments);
  if (!arguments.ok()) return arguments.take_error();

  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kStream, object)) return errors::wrong_type();
  if (object == nullptr) return Reply::array();
  if (count == 0) return Reply::nil_array();
  std::vector<Reply> entries;
  ReplyAllowance allowance(context.session().reply_bytes_max);
  const auto visit = [&](const StreamEntry& entry) {
    entries.push_back(entry_reply(entry));
    if (!allowance.take(memory_bytes(entries.back()))) return false;
    return !count || entries.size() < static_cast<std::size_t>(*count);
  };
  const StreamLog& log = object->stream().log();
  const absl::Status read =
      start_at < end_at ? log.read(start, end, visit) : log.read_back(start, end, visit);
  if (!read.ok()) return errors::store_failed(read);
  if (allowance.is_exceeded()) return errors::reply_too_large();
  return Reply::array(std::move(entries));
}

// ---- XSETID ----

struct SetIdRequest {
  StreamId last_id;
  std::optional<std::int64_t> entries_added;
  StreamId max_deleted_id;  // 0-0: unchanged
};

StreamId next_stream_id(Arguments& arguments) {
  const auto id = parse_stream_id(errors::as_c_string(arguments.next()));
  if (!id) arguments.fail(errors::invalid_stream_id());
  return id.value_or(StreamId{});
}

SetIdRequest read_set_id_request(Arguments& arguments) {
  SetIdRequest wanted{
      .last_id = next_stream_id(arguments), .entries_added = {}, .max_deleted_id = {}};
  while (arguments.ok() && !arguments.at_end()) {
    if (arguments.left() > 1 && arguments.accept("ENTRIESADDED")) {
      wanted.entries_added = arguments.next_integer();
      if (arguments.ok() && *wanted.entries_added < 0) {
        arguments.fail(errors::negative_entries_added());
      }
    } else if (arguments.left() > 1 && arguments.accept("MAXDELETEDID")) {
      wanted.max_deleted_id = next_stream_id(arguments);
      if (arguments.ok() && wanted.last_id < wanted.max_deleted_id) {
        arguments.fail(errors::last_id_below_given_deleted());
      }
    } else {
      arguments.fail(errors::syntax());
    }
  }
  return wanted;
}

// ---- XREAD ----

/// Returns the id after which XREAD reads the stream number `i`. `object` is null if there is no
/// stream.
StreamId read_after(CommandContext& context, const StreamReadRequest& read, std::size_t i,
                    Arguments& arguments, Object*& object) {
  // A client blocked on a stream stays blocked when another type replaces it.
  const bool is_stream = context.find(read.key(context.request(), i), ValueType::kStream, object);
  if (!is_stream && !context.ready_key()) arguments.fail(errors::wrong_type());
  const std::string_view text = errors::as_c_string(read.id(context.request(), i));
  if (text == "$") return object == nullptr ? StreamId{} : object->stream().log().last_id();
  if (text == ">") arguments.fail(errors::new_id_in_xread());
  const auto id = parse_stream_id(text);
  if (!id) arguments.fail(errors::invalid_stream_id());
  return id.value_or(StreamId{});
}

absl::Status read_entries(const StreamLog& log, StreamId after, std::uint64_t count,
                          ReplyAllowance& allowance, std::vector<Reply>& entries) {
  const auto first = after.next();
  if (!first) return absl::OkStatus();
  return log.read(*first, StreamId::max(), [&](const StreamEntry& entry) {
    entries.push_back(entry_reply(entry));
    if (!allowance.take(memory_bytes(entries.back()))) return false;
    return count == 0 || entries.size() < count;
  });
}

Reply xadd_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  const EntryAddRequest add = read_entry_add(arguments, context.keyspace().limits());
  if (!arguments.ok()) return arguments.take_error();

  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kStream, object)) return errors::wrong_type();
  if (object == nullptr && !add.make_stream) return Reply::nil();
  const StreamId last = object == nullptr ? StreamId{} : object->stream().log().last_id();
  if (last == StreamId::max()) return errors::ids_exhausted();
  if (add.automatic_seq && add.id.ms == last.ms &&
      last.seq == std::numeric_limits<std::uint64_t>::max()) {
    return errors::entry_too_large();  // Redis's message for a millisecond without free sequence
                                       // numbers
  }
  const auto id = choose_id(add, last, context.now_ms());
  if (!id) return errors::id_not_above_last();
  if (add.bytes > kEntryBytesMax) return errors::entry_too_large();

  Changes& changes = context.db().changes();
  const Changes::Savepoint savepoint = changes.savepoint();
  if (object == nullptr) object = &streams::create(context.db(), context[1]);
  absl::Status added = streams::append(context.db(), *object, *id, add.fields);
  std::uint64_t removed = 0;
  if (added.ok() && add.trim.given()) {
    added = streams::trim(context.db(), *object, add.trim.to(), removed, add.trim.pending());
  }
  if (!added.ok()) {
    changes.roll_back_to(savepoint);
    return errors::store_failed(added);
  }
  context.notify(kStreamEvents, "xadd", context[1]);
  if (removed > 0) context.notify(kStreamEvents, "xtrim", context[1]);
  return id_reply(*id);
}

Reply xlen_command(CommandContext& context) {
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kStream, object)) return errors::wrong_type();
  return Reply::integer(
      object == nullptr ? 0 : static_cast<std::int64_t>(object->stream().log().length()));
}

Reply xrange_command(CommandContext& context) { return range_reply(context, 2, 3); }

Reply xrevrange_command(CommandContext& context) { return range_reply(context, 3, 2); }

Reply xdel_command(CommandContext& context) {
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kStream, object)) return errors::wrong_type();
  if (object == nullptr) return Reply::integer(0);
  Arguments arguments(context.request(), 2);
  const StreamIds ids = read_stream_ids(arguments, context.request(), 2);
  if (!arguments.ok()) return arguments.take_error();

  std::uint64_t erased = 0;
  const absl::Status status = streams::erase(context.db(), *object, ids, erased);
  if (!status.ok()) return errors::store_failed(status);
  if (erased > 0) context.notify(kStreamEvents, "xdel", context[1]);
  return Reply::integer(static_cast<std::int64_t>(erased));
}

Reply xtrim_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  TrimOptions trim;
  while (!arguments.at_end()) {
    if (!trim.accept(arguments)) arguments.fail(errors::syntax());
  }
  trim.check(arguments, TrimOptions::Use::kMustTrim, context.keyspace().limits());
  if (!arguments.ok()) return arguments.take_error();

  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kStream, object)) return errors::wrong_type();
  if (object == nullptr) return Reply::integer(0);
  Changes& changes = context.db().changes();
  const Changes::Savepoint savepoint = changes.savepoint();
  std::uint64_t removed = 0;
  const absl::Status status =
      streams::trim(context.db(), *object, trim.to(), removed, trim.pending());
  if (!status.ok()) {
    changes.roll_back_to(savepoint);
    return errors::store_failed(status);
  }
  if (removed > 0) context.notify(kStreamEvents, "xtrim", context[1]);
  return Reply::integer(static_cast<std::int64_t>(removed));
}

Reply xsetid_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  const SetIdRequest wanted = read_set_id_request(arguments);
  if (!arguments.ok()) return arguments.take_error();

  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kStream, object)) return errors::wrong_type();
  if (object == nullptr) return errors::no_such_key();
  const StreamLog& log = object->stream().log();
  StreamId top;
  const absl::Status read =
      log.read_back(StreamId::min(), StreamId::max(), [&](const StreamEntry& entry) {
        top = entry.id();
        return false;
      });
  if (!read.ok()) return errors::store_failed(read);
  if (wanted.last_id < top) return errors::last_id_below_top();
  if (wanted.entries_added && log.length() > static_cast<std::uint64_t>(*wanted.entries_added)) {
    return errors::entries_added_below_length();
  }
  const absl::Status status = streams::set_history(
      context.db(), *object, wanted.last_id,
      wanted.entries_added ? static_cast<std::uint64_t>(*wanted.entries_added)
                           : log.entries_added(),
      wanted.max_deleted_id == StreamId{} ? log.max_deleted_id() : wanted.max_deleted_id);
  if (!status.ok()) return errors::store_failed(status);
  context.notify(kStreamEvents, "xsetid", context[1]);
  return Reply::ok();
}

Reply xread_command(CommandContext& context) {
  Arguments arguments(context.request());
  const StreamReadRequest read =
      read_stream_read_request(arguments, context.request(), false, context.in_script());
  if (!arguments.ok()) return arguments.take_error();

  absl::InlinedVector<Object*, 4> objects(read.streams);
  absl::InlinedVector<StreamId, 4> after(read.streams);
  for (std::size_t i = 0; i < read.streams && arguments.ok(); ++i) {
    after[i] = read_after(context, read, i, arguments, objects[i]);
  }
  if (!arguments.ok()) return arguments.take_error();

  std::vector<Reply> keys_and_entries;
  ReplyAllowance allowance(context.session().reply_bytes_max);
  for (std::size_t i = 0; i < read.streams; ++i) {
    if (objects[i] == nullptr || !context.may_serve(read.key(context.request(), i))) continue;
    std::vector<Reply> entries;
    const absl::Status status =
        read_entries(objects[i]->stream().log(), after[i], read.count, allowance, entries);
    if (!status.ok()) return errors::store_failed(status);
    if (allowance.is_exceeded()) return errors::reply_too_large();
    if (entries.empty() && !ends_waiting(context, objects[i]->stream().log(), after[i])) continue;
    keys_and_entries.push_back(Reply::bulk(read.key(context.request(), i)));
    keys_and_entries.push_back(Reply::array(std::move(entries)));
  }
  if (keys_and_entries.empty()) return wait_for_entries(context, read, after);
  return streams_reply(context, std::move(keys_and_entries));
}

// ---- The records ----

constexpr CommandSpec kStreamCommands[] = {
    {.name = "xadd",
     .function = xadd_command,
     .arity = -5,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key [NOMKSTREAM] [KEEPREF | DELREF | ACKED]@8.2.0 [<MAXLEN | MINID> [= | ~] "
               "threshold [LIMIT count]] <* | id> field value [field value ...]",
     .summary = "Adds an entry to a stream.",
     .since = "5.0.0",
     .complexity = "O(1), and O(N) for N entries that are trimmed"},
    {.name = "xlen",
     .function = xlen_command,
     .arity = 2,
     .flags = kReadOnly | kFast,
     .syntax = "key",
     .summary = "Counts the entries.",
     .since = "5.0.0",
     .complexity = "O(1)"},
    {.name = "xrange",
     .function = xrange_command,
     .arity = -4,
     .flags = kReadOnly,
     .syntax = "key start end [COUNT count]",
     .summary = "Returns the entries between two ids.",
     .since = "5.0.0",
     .complexity = "O(N), N entries returned"},
    {.name = "xrevrange",
     .function = xrevrange_command,
     .arity = -4,
     .flags = kReadOnly,
     .syntax = "key end start [COUNT count]",
     .summary = "Returns the entries between two ids, the latest first.",
     .since = "5.0.0",
     .complexity = "O(N), N entries returned"},
    {.name = "xdel",
     .function = xdel_command,
     .arity = -3,
     .flags = kWrite | kFast,
     .syntax = "key id [id ...]",
     .summary = "Deletes entries.",
     .since = "5.0.0",
     .complexity = "O(N), N entries to delete"},
    {.name = "xsetid",
     .function = xsetid_command,
     .arity = -3,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key last-id [ENTRIESADDED entries-added] [MAXDELETEDID max-deleted-id]",
     .summary = "Sets the last id of a stream.",
     .since = "5.0.0",
     .complexity = "O(1), and O(N) for N entries if the id is lowered"},
    {.name = "xtrim",
     .function = xtrim_command,
     .arity = -4,
     .flags = kWrite,
     .syntax = "key <MAXLEN | MINID> [= | ~] threshold [LIMIT count] [KEEPREF | DELREF | "
               "ACKED]@8.2.0",
     .summary = "Removes the oldest entries.",
     .since = "5.0.0",
     .complexity = "O(N), N entries removed"},
    {.name = "xread",
     .function = xread_command,
     .arity = -4,
     .flags = kReadOnly,
     .syntax = "[COUNT count] [BLOCK milliseconds] STREAMS key [key ...] id [id ...]",
     .summary = "Returns the entries after given ids; blocks until there is one if BLOCK is given.",
     .since = "5.0.0",
     .complexity = "O(N), N entries returned"},
};

}  // namespace

CommandFamily stream_commands() { return {CommandGroup::kStream, kStreamCommands}; }

}  // namespace rushgate
