// Commands of transactions: https://redis.io/docs/latest/commands/?group=transactions
#include "engine/redis/commands/transactions.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "engine/core/base/heap.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/dispatch.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/reply_allowance.h"

namespace rushgate {
namespace {

void unwatch_all(Session& session, Keyspace& keyspace) {
  for (const WatchedKey& watched : session.watched) keyspace.db(watched.db).unwatch(watched);
  session.watched.clear();
  session.has_lost_watch = false;
  session.held_bytes.watched = 0;
}

/// The database stores the name, too, if the key does not exist.
std::size_t memory_bytes(const WatchedKey& watched) {
  return 2 * (sizeof(watched) + heap_bytes(watched.key));
}

}  // namespace

bool any_watched_key_was_written(Session& session, Keyspace& keyspace) {
  if (session.watched.empty() || session.has_lost_watch) return session.has_lost_watch;
  if (session.watch_checked_at == keyspace.changes_noted()) return false;
  session.has_lost_watch = std::ranges::any_of(session.watched, [&](const WatchedKey& watched) {
    return keyspace.db(watched.db).was_written(watched);
  });
  session.watch_checked_at = keyspace.changes_noted();
  return session.has_lost_watch;
}

void end_transaction(Session& session, Keyspace& keyspace) {
  session.transaction.reset();
  session.held_bytes.requests = 0;
  unwatch_all(session, keyspace);
}

void end_transaction(const CommandContext& context) {
  end_transaction(context.session(), context.keyspace());
}

namespace {

bool any_watched_key_has_changed(const Session& session, Keyspace& keyspace) {
  return std::ranges::any_of(session.watched, [&](const WatchedKey& watched) {
    return keyspace.db(watched.db).has_changed(watched);
  });
}

Reply multi_command(CommandContext& context) {
  if (context.session().transaction) return errors::nested_multi();
  context.session().transaction.emplace();
  return Reply::ok();
}

Reply exec_command(CommandContext& context) {
  Session& session = context.session();
  if (!session.transaction) return errors::without_multi("EXEC");
  absl::Cleanup end = [&] { end_transaction(context); };  // also after an exception
  const bool has_changed =
      session.has_lost_watch || any_watched_key_has_changed(session, context.keyspace());
  const Transaction transaction = *std::move(session.transaction);
  std::move(end).Invoke();
  if (transaction.is_broken) return errors::transaction_broken();
  if (has_changed) return Reply::nil_array();

  std::vector<Reply> replies;
  replies.reserve(transaction.requests.size());
  ReplyAllowance allowance(session.reply_bytes_max);
  for (const Request& request : transaction.requests) {
    CommandContext inner(context.services(), session, request, CommandContext::Origin::kTransaction,
                         false);
    Reply reply = run_command(inner);
    if (!allowance.take(memory_bytes(reply))) {
      reply = errors::reply_too_large();
      allowance.take_up_to(memory_bytes(reply));
    }
    replies.push_back(std::move(reply));
  }
  return Reply::array(std::move(replies));
}

Reply discard_command(CommandContext& context) {
  if (!context.session().transaction) return errors::without_multi("DISCARD");
  end_transaction(context);
  return Reply::ok();
}

Reply watch_command(CommandContext& context) {
  Session& session = context.session();
  if (session.transaction) return errors::watch_inside_multi();
  for (std::size_t i = 1; i < context.size(); ++i) {
    const std::string_view key = context[i];
    if (session.watched.contains(WatchedKey::Order::Place(session.db, key))) continue;
    const WatchedKey watched = context.db().watch(key);
    absl::Cleanup roll_back = [&] { context.db().unwatch(watched); };
    session.watched.insert(watched);
    std::move(roll_back).Cancel();
    session.held_bytes.watched = session.held_bytes.watched + memory_bytes(watched);
  }
  return Reply::ok();
}

Reply unwatch_command(CommandContext& context) {
  unwatch_all(context.session(), context.keyspace());
  return Reply::ok();
}

/// EXEC runs without memory, unless a queued command needs it.
bool queue_asks_for_memory(const CommandContext& context) {
  const auto& transaction = context.session().transaction;
  return transaction && transaction->asks_for_memory;
}

// ---- The records ----

constexpr CommandSpec kTransactionCommands[] = {
    {.name = "multi",
     .function = multi_command,
     .arity = 1,
     .flags = kNoScript | kAnytime | kFast | kAllowBusy | kNotQueued,
     .summary = "Begins a transaction: later commands are queued.",
     .since = "1.2.0",
     .complexity = "O(1)"},
    {.name = "exec",
     .function = exec_command,
     .arity = 1,
     .flags =
         kNoScript | kAnytime | kSkipSlowlog | kNotQueued | kEndsBatch | kRunsQueue | kEndsMulti,
     .asks_for_memory = queue_asks_for_memory,
     .summary = "Runs the queued commands atomically.",
     .since = "1.2.0",
     .complexity = "Depends on the queued commands."},
    {.name = "discard",
     .function = discard_command,
     .arity = 1,
     .flags = kNoScript | kAnytime | kFast | kAllowBusy | kNotQueued | kEndsMulti,
     .summary = "Discards the queued commands.",
     .since = "2.0.0",
     .complexity = "O(N), N queued commands"},
    {.name = "watch",
     .function = watch_command,
     .arity = -2,
     .flags = kNoScript | kAnytime | kFast | kAllowBusy | kNotQueued,
     .syntax = "key [key ...]",
     .summary = "Makes the next EXEC fail if one of the keys changes before it.",
     .since = "2.2.0",
     .complexity = "O(1) a key"},
    {.name = "unwatch",
     .function = unwatch_command,
     .arity = 1,
     .flags = kNoScript | kAnytime | kFast | kAllowBusy,
     .summary = "Removes all watches.",
     .since = "2.2.0",
     .complexity = "O(1)"},
};

}  // namespace

CommandFamily transaction_commands() { return {CommandGroup::kTransactions, kTransactionCommands}; }

}  // namespace rushgate
