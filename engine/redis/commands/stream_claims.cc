// Commands on the owners of pending entries:
// https://redis.io/docs/latest/commands/xclaim/
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
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

/// Finds the group of arguments 1 and 2, or returns an error.
std::optional<Reply> find_group(CommandContext& context, Object*& object, StreamGroup*& group) {
  if (!context.find(context[1], ValueType::kStream, object)) return errors::wrong_type();
  if (object != nullptr) group = object->stream().groups().find(context[2]);
  if (group == nullptr) return errors::no_such_key_or_group(context[1], context[2]);
  return std::nullopt;
}

// ---- XPENDING ----

Reply pending_summary(const StreamGroup& group) {
  const auto total = Reply::integer(static_cast<std::int64_t>(group.pending.size()));
  if (group.pending.empty())
    return Reply::array({total, Reply::nil(), Reply::nil(), Reply::nil_array()});
  std::vector<Reply> consumers;
  for (const auto& [name, consumer] : group.consumers) {
    if (consumer->pending.empty()) continue;
    const DecimalText count(static_cast<std::int64_t>(consumer->pending.size()));
    consumers.push_back(Reply::array({Reply::bulk(name), Reply::bulk(count.view())}));
  }
  return Reply::array({total, id_reply(group.pending.begin()->first),
                       id_reply(group.pending.rbegin()->first),
                       Reply::array(std::move(consumers))});
}

struct PendingQuery {
  std::int64_t min_idle_ms = 0;
  StreamId start;
  StreamId end;
  std::size_t count = 0;
  std::optional<std::string_view> consumer;
};

PendingQuery read_pending_query(Arguments& arguments, CommandContext& context) {
  PendingQuery query;
  if (context.size() < 6 || context.size() > 9) arguments.fail(errors::syntax());
  if (arguments.accept("IDLE")) {
    query.min_idle_ms = arguments.next_integer();
    if (arguments.left() < 3) arguments.fail(errors::syntax());
  }
  const std::string_view start = arguments.next();
  const std::string_view end = arguments.next();
  query.count = static_cast<std::size_t>(std::max(arguments.next_integer(), std::int64_t{0}));
  if (!arguments.ok()) return query;
  query.start = interval_start(arguments, start);
  query.end = interval_end(arguments, end);
  if (!arguments.at_end()) query.consumer = arguments.next();
  return query;
}

Reply pending_entry_reply(StreamId id, const PendingEntry& entry, std::int64_t idle_ms) {
  return Reply::array({id_reply(id), Reply::bulk(entry.consumer->name),
                       Reply::integer(std::max(idle_ms, std::int64_t{0})),
                       Reply::integer(static_cast<std::int64_t>(entry.deliveries))});
}

Reply pending_entries(const StreamGroup& group, const PendingQuery& query, std::int64_t now_ms) {
  std::vector<Reply> entries;
  const auto list = [&](StreamId id, const PendingEntry& entry) {
    if (id > query.end || entries.size() == query.count) return false;
    const std::int64_t idle_ms = now_ms - entry.delivered_ms;
    if (query.min_idle_ms == 0 || idle_ms >= query.min_idle_ms)
      entries.push_back(pending_entry_reply(id, entry, idle_ms));
    return true;
  };
  if (query.consumer) {
    const StreamConsumer* consumer = group.find_consumer(*query.consumer);
    if (consumer == nullptr) return Reply::array();
    auto at = consumer->pending.lower_bound(query.start);
    while (at != consumer->pending.end() && list(*at, *group.find_pending(*at))) ++at;
  } else {
    auto at = group.pending.lower_bound(query.start);
    while (at != group.pending.end() && list(at->first, at->second)) ++at;
  }
  return Reply::array(std::move(entries));
}

// ---- XCLAIM and XAUTOCLAIM ----

/// Returns the entry in the form of XCLAIM's reply; nil if it does not exist.
absl::Status read_claimed(const StreamLog& log, StreamId id, bool just_id, Reply& claimed) {
  return log.read(id, id, [&](const StreamEntry& entry) {
    claimed = just_id ? id_reply(id) : entry_reply(entry);
    return false;
  });
}

std::int64_t read_min_idle(Arguments& arguments, std::string_view text, std::string_view command) {
  const auto min_idle_ms = parse_int64(text);
  if (!min_idle_ms) arguments.fail(errors::invalid_min_idle(command));
  return std::max(min_idle_ms.value_or(0), std::int64_t{0});
}

struct ClaimRequest {
  std::int64_t min_idle_ms = 0;
  StreamIds ids;
  std::int64_t delivered_ms = -1;           // the time of IDLE or TIME
  std::optional<std::uint64_t> deliveries;  // RETRYCOUNT
  bool force = false;
  bool just_id = false;
  StreamId last_id;
};

std::int64_t read_claim_integer(Arguments& arguments, std::string_view option) {
  const auto value = parse_int64(arguments.next());
  if (!value) arguments.fail(errors::invalid_claim_option(option));
  return value.value_or(0);
}

/// Returns false if the next argument is not an option.
bool accept_claim_option(Arguments& arguments, ClaimRequest& claim, std::int64_t now_ms) {
  const bool has_value = arguments.left() >= 2;
  if (arguments.accept("FORCE")) {
    claim.force = true;
  } else if (arguments.accept("JUSTID")) {
    claim.just_id = true;
  } else if (has_value && arguments.accept("IDLE")) {
    claim.delivered_ms = now_ms - std::max(read_claim_integer(arguments, "IDLE"), std::int64_t{0});
  } else if (has_value && arguments.accept("TIME")) {
    claim.delivered_ms = read_claim_integer(arguments, "TIME");
  } else if (has_value && arguments.accept("RETRYCOUNT")) {
    const std::int64_t deliveries = read_claim_integer(arguments, "RETRYCOUNT");
    claim.deliveries.reset();
    if (deliveries >= 0) claim.deliveries = static_cast<std::uint64_t>(deliveries);
  } else if (has_value && arguments.accept("LASTID")) {
    const auto id = parse_stream_id(arguments.next());
    if (!id) arguments.fail(errors::invalid_stream_id());
    claim.last_id = id.value_or(StreamId{});
  } else {
    return false;
  }
  return true;
}

ClaimRequest read_claim_request(Arguments& arguments, CommandContext& context) {
  ClaimRequest claim;
  claim.min_idle_ms = read_min_idle(arguments, arguments.next(), "XCLAIM");
  std::size_t at = 5;
  for (; at < context.size(); ++at, arguments.next()) {
    const auto id = parse_stream_id(context[at]);
    if (!id) break;  // the options begin here
    claim.ids.push_back(*id);
  }
  while (!arguments.at_end()) {
    if (accept_claim_option(arguments, claim, context.now_ms())) continue;
    arguments.fail(errors::unknown_claim_option(arguments.next()));
  }
  if (claim.delivered_ms < 0 || claim.delivered_ms > context.now_ms())
    claim.delivered_ms = context.now_ms();
  return claim;
}

/// Claims one entry. `claimed` stays nil if it cannot be claimed.
absl::Status claim_entry(CommandContext& context, Object& object, StreamGroup& group,
                         const ClaimRequest& claim, StreamId id, Reply& claimed) {
  absl::Status status = read_claimed(object.stream().log(), id, claim.just_id, claimed);
  if (!status.ok()) return status;
  const PendingEntry* pending = group.find_pending(id);
  if (claimed.is_nil()) {
    if (pending != nullptr)
      streams::acknowledge(context.db(), object, group, id);  // the entry was deleted
    return status;
  }
  const bool is_idle =
      pending == nullptr || context.now_ms() - pending->delivered_ms >= claim.min_idle_ms;
  if (pending == nullptr ? !claim.force : (claim.min_idle_ms > 0 && !is_idle)) {
    claimed = Reply::nil();
    return status;
  }
  PendingEntry taken{&seen_consumer(context, object, group, context[3]), claim.delivered_ms,
                     pending == nullptr ? 1 : pending->deliveries};
  if (claim.deliveries) {
    taken.deliveries = *claim.deliveries;
  } else if (!claim.just_id) {
    ++taken.deliveries;
  }
  streams::assign_pending(context.db(), object, group, id, taken);
  return status;
}

struct AutoclaimRequest {
  std::int64_t min_idle_ms = 0;
  StreamId start;
  std::int64_t count = 100;
  bool just_id = false;
};

constexpr std::int64_t kAttemptsPerEntry = 10;  // examined pending entries per requested entry

AutoclaimRequest read_autoclaim_request(Arguments& arguments) {
  AutoclaimRequest autoclaim;
  autoclaim.min_idle_ms = read_min_idle(arguments, arguments.next(), "XAUTOCLAIM");
  if (arguments.ok()) autoclaim.start = interval_start(arguments, arguments.next());
  while (!arguments.at_end()) {
    if (arguments.left() >= 2 && arguments.accept("COUNT")) {
      constexpr std::int64_t kCountMax = std::numeric_limits<std::int64_t>::max() / 16;
      const auto count = parse_int64(arguments.next());
      if (!count || *count < 1 || *count > kCountMax) arguments.fail(errors::count_not_positive());
      autoclaim.count = count.value_or(0);
    } else if (arguments.accept("JUSTID")) {
      autoclaim.just_id = true;
    } else {
      arguments.fail(errors::syntax());
    }
  }
  return autoclaim;
}

struct Autoclaimed {
  StreamId cursor;  // next position; 0-0: at the end
  std::vector<Reply> entries;
  std::vector<Reply> deleted;
};

absl::Status autoclaim_entries(CommandContext& context, Object& object, StreamGroup& group,
                               const AutoclaimRequest& autoclaim, ReplyAllowance& allowance,
                               Autoclaimed& result) {
  std::int64_t attempts = autoclaim.count * kAttemptsPerEntry;
  std::int64_t count = autoclaim.count;
  auto at = group.pending.lower_bound(autoclaim.start);
  for (; attempts > 0 && count > 0 && at != group.pending.end(); --attempts) {
    const StreamId id = at->first;
    PendingEntry pending = at->second;
    Reply claimed;
    RETURN_IF_ERROR(read_claimed(object.stream().log(), id, autoclaim.just_id, claimed));
    if (claimed.is_nil()) {
      streams::acknowledge(context.db(), object, group, id);
      at = group.pending.lower_bound(id);
      result.deleted.push_back(id_reply(id));
      --count;
      continue;
    }
    ++at;
    if (autoclaim.min_idle_ms > 0 &&
        context.now_ms() - pending.delivered_ms < autoclaim.min_idle_ms)
      continue;
    pending.consumer = &seen_consumer(context, object, group, context[3]);
    pending.delivered_ms = context.now_ms();
    if (!autoclaim.just_id) ++pending.deliveries;
    streams::assign_pending(context.db(), object, group, id, pending);
    if (!allowance.take(memory_bytes(claimed))) break;
    result.entries.push_back(std::move(claimed));
    --count;
  }
  if (at != group.pending.end()) result.cursor = at->first;
  return absl::OkStatus();
}

Reply xpending_command(CommandContext& context) {
  Arguments arguments(context.request(), 3);
  PendingQuery query;
  const bool is_summary = context.size() == 3;
  if (!is_summary) query = read_pending_query(arguments, context);
  if (!arguments.ok()) return arguments.take_error();

  Object* object = nullptr;
  StreamGroup* group = nullptr;
  if (auto error = find_group(context, object, group)) return std::move(*error);
  return is_summary ? pending_summary(*group) : pending_entries(*group, query, context.now_ms());
}

Reply xclaim_command(CommandContext& context) {
  Object* object = nullptr;
  StreamGroup* group = nullptr;
  if (auto error = find_group(context, object, group)) return std::move(*error);
  Arguments arguments(context.request(), 4);
  const ClaimRequest claim = read_claim_request(arguments, context);
  if (!arguments.ok()) return arguments.take_error();

  Database& db = context.db();
  const Changes::Savepoint savepoint = db.changes().savepoint();
  if (claim.last_id > group->last_delivered) {
    streams::set_group_position(db, *object, *group, claim.last_id, group->entries_read);
  }
  std::vector<Reply> entries;
  ReplyAllowance allowance(context.session().reply_bytes_max);
  for (const StreamId id : claim.ids) {  // ids may repeat
    Reply claimed;
    const absl::Status status = claim_entry(context, *object, *group, claim, id, claimed);
    if (!status.ok() || !allowance.take(memory_bytes(claimed))) {
      db.changes().roll_back_to(savepoint);
      return status.ok() ? errors::reply_too_large() : errors::store_failed(status);
    }
    if (!claimed.is_nil()) entries.push_back(std::move(claimed));
  }
  // A client may wait for pending entries to be idle for long enough.
  if (claim.force || claim.delivered_ms < context.now_ms())
    context.keyspace().signal(*object, KeySignal::kReady);
  return Reply::array(std::move(entries));
}

Reply xautoclaim_command(CommandContext& context) {
  Arguments arguments(context.request(), 4);
  const AutoclaimRequest autoclaim = read_autoclaim_request(arguments);
  if (!arguments.ok()) return arguments.take_error();
  Object* object = nullptr;
  StreamGroup* group = nullptr;
  if (auto error = find_group(context, object, group)) return std::move(*error);

  const Changes::Savepoint savepoint = context.db().changes().savepoint();
  Autoclaimed result;
  ReplyAllowance allowance(context.session().reply_bytes_max);
  const absl::Status status =
      autoclaim_entries(context, *object, *group, autoclaim, allowance, result);
  if (!status.ok() || allowance.is_exceeded()) {
    context.db().changes().roll_back_to(savepoint);
    return status.ok() ? errors::reply_too_large() : errors::store_failed(status);
  }
  return Reply::array({id_reply(result.cursor), Reply::array(std::move(result.entries)),
                       Reply::array(std::move(result.deleted))});
}

// ---- The records ----

constexpr CommandSpec kStreamClaimCommands[] = {
    {.name = "xpending",
     .function = xpending_command,
     .arity = -3,
     .flags = kReadOnly,
     .syntax = "key group [[IDLE min-idle-time] start end count [consumer]]",
     .summary = "Returns the pending entries.",
     .since = "5.0.0",
     .complexity = "O(N), N entries looked at"},
    {.name = "xclaim",
     .function = xclaim_command,
     .arity = -6,
     .flags = kWrite | kFast,
     .syntax = "key group consumer min-idle-time id [id ...] [IDLE ms] [TIME "
               "unix-time-milliseconds] [RETRYCOUNT count] [FORCE] [JUSTID] [LASTID id]",
     .summary = "Claims pending entries for another consumer.",
     .since = "5.0.0",
     .complexity = "O(N*log M), N ids, M pending entries"},
    {.name = "xautoclaim",
     .function = xautoclaim_command,
     .arity = -6,
     .flags = kWrite | kFast,
     .syntax = "key group consumer min-idle-time start [COUNT count] [JUSTID]",
     .summary = "Claims entries that have been pending for too long for another consumer.",
     .since = "6.2.0",
     .complexity = "O(N), N entries looked at"},
};

}  // namespace

CommandFamily stream_claim_commands() { return {CommandGroup::kStream, kStreamClaimCommands}; }

}  // namespace rushgate
