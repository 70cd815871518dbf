// XDELEX and XACKDEL of Redis 8.2: https://redis.io/docs/latest/commands/xdelex/
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/stream_arguments.h"
#include "engine/redis/commands/stream_errors.h"
#include "engine/redis/keyspace/streams.h"

namespace rushgate {
namespace {

using streams::PendingRemoval;

struct RemovalRequest {
  PendingRemoval pending = PendingRemoval::kKeep;
  StreamIds ids;
};

/// Reads IDS numids id [id ...], after the keyword.
void read_ids(Arguments& arguments, StreamIds& ids) {
  const std::int64_t count = arguments.next_at_least(1, errors::ids_not_positive());
  if (!arguments.ok()) return;
  if (static_cast<std::uint64_t>(count) > arguments.left()) {
    return arguments.fail(errors::ids_miscounted());
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const auto id = parse_stream_id(arguments.next());
    if (!id) arguments.fail(errors::invalid_stream_id());
    ids.push_back(id.value_or(StreamId{}));
  }
}

RemovalRequest read_removal_request(Arguments& arguments) {
  RemovalRequest request;
  std::optional<PendingRemoval> pending;
  while (!arguments.at_end()) {
    if (accept_pending_removal(arguments, pending)) continue;
    if (request.ids.empty() && arguments.accept("IDS")) {
      read_ids(arguments, request.ids);
    } else {
      arguments.fail(errors::syntax());
    }
  }
  if (request.ids.empty()) arguments.fail(errors::syntax());
  request.pending = pending.value_or(PendingRemoval::kKeep);
  return request;
}

// The reply for an id.
constexpr std::int64_t kNoEntry = -1;
constexpr std::int64_t kEntryRemoved = 1;
constexpr std::int64_t kAwaited = 2;  // with ACKED: a group has still to deliver or acknowledge it

Reply results_reply(std::span<const std::int64_t> results) {
  std::vector<Reply> replies;
  replies.reserve(results.size());
  for (const std::int64_t result : results) replies.push_back(Reply::integer(result));
  return Reply::array(std::move(replies));
}

Reply no_results(const RemovalRequest& request) {
  return results_reply(std::vector<std::int64_t>(request.ids.size(), kNoEntry));
}

/// Removes the entries whose result is kEntryRemoved, and replies. Without them everything since the
/// savepoint is undone if the store fails.
Reply remove_entries(CommandContext& context, Object& object, const RemovalRequest& request,
                     std::span<const std::int64_t> results, const Changes::Savepoint& savepoint) {
  StreamIds ids;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i] == kEntryRemoved) ids.push_back(request.ids[i]);
  }
  std::uint64_t erased = 0;
  const absl::Status status = streams::erase(context.db(), object, ids, erased);
  if (!status.ok()) {
    context.db().changes().roll_back_to(savepoint);
    return errors::store_failed(status);
  }
  if (erased > 0) context.notify(kStreamEvents, "xdel", context[1]);
  return results_reply(results);
}

/// Forgets the pending entry in all groups with DELREF. Returns kAwaited if ACKED forbids the
/// removal, else kEntryRemoved.
std::int64_t prepare_removal(CommandContext& context, Object& object, PendingRemoval pending,
                             StreamId id) {
  if (pending == PendingRemoval::kForget) streams::forget_pending(context.db(), object, id, id);
  const bool is_kept =
      pending == PendingRemoval::kAcknowledgedOnly && streams::is_awaited(object.stream(), id);
  return is_kept ? kAwaited : kEntryRemoved;
}

Reply xdelex_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  const RemovalRequest request = read_removal_request(arguments);
  if (!arguments.ok()) return arguments.take_error();
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kStream, object)) return errors::wrong_type();
  if (object == nullptr) return no_results(request);

  const Changes::Savepoint savepoint = context.db().changes().savepoint();
  std::vector<std::int64_t> results;
  absl::btree_set<StreamId> removed;
  for (const StreamId id : request.ids) {
    bool exists = false;
    if (absl::Status read = object->stream().log().contains(id, exists); !read.ok()) {
      context.db().changes().roll_back_to(savepoint);
      return errors::store_failed(read);
    }
    const std::int64_t result = prepare_removal(context, *object, request.pending, id);
    const bool is_there = exists && (result != kEntryRemoved || removed.insert(id).second);
    results.push_back(is_there ? result : kNoEntry);
  }
  return remove_entries(context, *object, request, results, savepoint);
}

Reply xackdel_command(CommandContext& context) {
  Arguments arguments(context.request(), 3);
  const RemovalRequest request = read_removal_request(arguments);
  if (!arguments.ok()) return arguments.take_error();
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kStream, object)) return errors::wrong_type();
  StreamGroup* const group =
      object == nullptr ? nullptr : object->stream().groups().find(context[2]);
  if (group == nullptr) return no_results(request);

  const Changes::Savepoint savepoint = context.db().changes().savepoint();
  std::vector<std::int64_t> results;
  for (const StreamId id : request.ids) {
    const bool was_pending = streams::acknowledge(context.db(), *object, *group, id);
    results.push_back(was_pending ? prepare_removal(context, *object, request.pending, id)
                                  : kNoEntry);
  }
  return remove_entries(context, *object, request, results, savepoint);
}

// ---- The records ----

constexpr CommandSpec kStreamRemovalCommands[] = {
    {.name = "xdelex",
     .function = xdelex_command,
     .arity = -5,
     .flags = kWrite | kFast,
     .syntax = "key [KEEPREF | DELREF | ACKED] IDS numids id [id ...]",
     .summary = "Deletes entries, and their references from groups if DELREF is given.",
     .since = "8.2.0",
     .complexity = "O(N*M), N ids, M groups"},
    {.name = "xackdel",
     .function = xackdel_command,
     .arity = -6,
     .flags = kWrite | kFast,
     .syntax = "key group [KEEPREF | DELREF | ACKED] IDS numids id [id ...]",
     .summary = "Acknowledges pending entries and deletes them.",
     .since = "8.2.0",
     .complexity = "O(N*M), N ids, M groups"},
};

}  // namespace

CommandFamily stream_removal_commands() { return {CommandGroup::kStream, kStreamRemovalCommands}; }

}  // namespace rushgate
