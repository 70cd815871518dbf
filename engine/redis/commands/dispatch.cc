#include "engine/redis/commands/dispatch.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "engine/core/base/time_units.h"
#include "engine/redis/commands/debug_errors.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/memory_limit.h"
#include "engine/redis/commands/monitor.h"
#include "engine/redis/commands/program_command_table.h"
#include "engine/redis/commands/tracking_table.h"
#include "engine/redis/commands/transactions.h"
#include "engine/redis/script/script_errors.h"

namespace rushgate {
namespace {

/// Returns the error for an unknown command.
Reply refuse_unknown(const CommandContext& context) {
  if (context.in_script()) return errors::unknown_in_script();
  const CommandSpec* const container = find_command(context[0]);
  if (container == nullptr) return errors::unknown_command(context.request());
  return errors::unknown_subcommand(absl::AsciiStrToUpper(std::string(container->name)),
                                    context[1]);
}

/// Returns true for EVAL and the like, which monitors see before the commands of the script.
bool runs_script(const CommandSpec& spec) {
  return spec.group == CommandGroup::kScripting && (spec.flags & kSkipMonitor) != 0;
}

/// Returns true if the command `spec` may not run now, and sets `why` to the error.
bool is_refused(const CommandContext& context, const CommandSpec* spec, Reply& why) {
  const auto refuse = [&why](Reply refusal) {
    why = std::move(refusal);
    return true;
  };
  if (spec == nullptr) return refuse(refuse_unknown(context));
  if (!arity_fits(*spec, context.size())) {
    return refuse(context.in_script() ? errors::arity_in_script()
                                      : errors::wrong_arity(spec->name));
  }
  if ((spec->flags & kDebugs) != 0 && !context.services().settings.debug_commands &&
      !context.in_script()) {
    return refuse(errors::debug_refused());
  }
  const Session& session = context.session();
  if (!session.is_authenticated && (spec->flags & kNoAuth) == 0)
    return refuse(errors::not_authenticated());
  if (session.transaction && (spec->flags & kNoMulti) != 0)
    return refuse(errors::not_in_transaction());
  if (context.is_new_request() && lacks_memory(context, *spec))
    return refuse(errors::out_of_memory());
  if (context.is_new_request() && session.protocol == 2 && !session.subscriptions.empty() &&
      (spec->flags & kWhileSubscribed) == 0) {
    return refuse(errors::only_subscriptions(spec->name));
  }
  if (session.is_monitor && context.is_new_request() &&
      ((spec->flags & (kWrite | kReadOnly | kPubSub)) != 0 || runs_script(*spec))) {
    return refuse(Reply::error("ERR Replica can't interact with the keyspace"));
  }
  if (context.in_script()) {
    if ((spec->flags & kNoScript) != 0) return refuse(errors::not_from_script());
  } else if (context.services().running_script != nullptr && (spec->flags & kAllowBusy) == 0) {
    return refuse(script_errors::busy(context.services().running_script->is_function()));
  }
  if ((spec->flags & kWrite) != 0) {
    if (context.read_only()) return refuse(errors::write_in_read_only_script());
    if (!context.services().write_refusal.empty())
      return refuse(Reply::error(context.services().write_refusal));
    if (context.in_script()) {
      bool& refuses_growth = context.services().refuses_growth;
      if (refuses_growth && asks_for_memory(context, *spec)) return refuse(errors::out_of_memory());
      refuses_growth = false;  // a script that has begun to write is not stopped
    }
  }
  return false;
}

/// Updates the session for CLIENT LIST.
void note_command(Session& session, const CommandSpec* spec, const CommandContext& context) {
  session.last_ms = context.now_ms();
  session.last_command = spec;
}

/// Replies `why` to a command that does not run; `spec` is null if there is no such command.
Reply reject(const CommandContext& context, const CommandSpec* spec, Reply why) {
  Statistics& statistics = context.services().statistics;
  if (spec != nullptr) ++statistics.by_command[*spec].rejected;
  statistics.errors.note(why.text());
  return why;
}

/// Remembers the keys of a command that reads, for client-side caching. As in Redis, also if it
/// failed.
void remember_keys(const CommandContext& context, const CommandSpec& spec) {
  Session& session = context.session();
  Session& client = session.client != nullptr ? *session.client : session;
  const bool is_tracked = client.tracking && client.tracking->remembers_reads();
  if (!is_tracked || context.ready_key() || spec.keys.empty()) return;
  for (const FoundKey& key : find_keys(spec, context.request()))
    context.services().tracking.remember(client, context[key.position]);
}

/// Calls the function of a command that reads, and counts its keyspace hits.
Reply run_lookups(CommandContext& context, const CommandSpec& spec) {
  Keyspace& keyspace = context.keyspace();
  KeyEvents& events = keyspace.events();
  if (events.wants(kMissEvents)) events.set_reading(!spec.name.starts_with("object|"));
  keyspace.set_keeps_expired(context.services().pause.is_active());
  const absl::Cleanup end_reading = [&] {
    events.set_reading(false);
    keyspace.set_keeps_expired(false);
  };
  const KeyCounts before = keyspace.counts();
  Reply reply = spec.function(context);
  const KeyCounts& after = keyspace.counts();
  Statistics& statistics = context.services().statistics;
  statistics.keys_found += after.found - before.found;
  statistics.keys_missed += after.missing - before.missing;
  return reply;
}

Reply run_function(CommandContext& context, const CommandSpec& spec) {
  // EVAL_RO looks up keys by other commands only, and MEMORY USAGE without expiry or hits.
  const bool reads = (spec.flags & (kReadOnly | kNoScript)) == kReadOnly;
  if (!reads) return spec.function(context);
  Reply reply =
      spec.group == CommandGroup::kServer ? spec.function(context) : run_lookups(context, spec);
  if (context.services().tracking.clients() > 0) remember_keys(context, spec);
  return reply;
}

/// Adds the command to the slow log if it took long enough.
void note_slow(const CommandContext& context, const CommandSpec& spec, std::int64_t us) {
  CommandServices& services = context.services();
  const Settings& settings = services.settings;
  if (settings.slowlog_log_slower_than_us < 0 || (spec.flags & kSkipSlowlog) != 0) return;
  if (us >= settings.slowlog_log_slower_than_us) {
    const Session& session = context.session();
    const bool has_client = !context.in_script();
    services.slowlog.add({.time_s = context.now_ms() / kMsPerSecond,
                          .duration_us = us,
                          .arguments = Slowlog::shown(context.request()),
                          .address = has_client ? session.address : "?:0",
                          .name = has_client ? session.name : ""});
  }
  services.slowlog.trim(static_cast<std::size_t>(settings.slowlog_max_len));
}

/// Adds the command to the events of the latency monitor if it took long enough.
void note_latency(const CommandContext& context, const CommandSpec& spec, std::int64_t ms) {
  CommandServices& services = context.services();
  const std::int64_t threshold_ms = services.settings.latency_monitor_threshold_ms;
  if (threshold_ms <= 0 || ms < threshold_ms) return;
  services.latency_events.add((spec.flags & kFast) != 0 ? "fast-command" : "command",
                              {.time_s = context.now_ms() / kMsPerSecond, .ms = ms});
}

Reply run_timed(CommandContext& context, const CommandSpec& spec) {
  const auto began = std::chrono::steady_clock::now();
  Reply reply = run_function(context, spec);
  const std::chrono::nanoseconds duration = std::chrono::steady_clock::now() - began;
  if (context.block_request()) return reply;
  CommandServices& services = context.services();
  if (services.settings.latency_tracking) {
    CommandStatistics& statistics = services.statistics.by_command[spec];
    statistics.timed_ns += duration.count();
    if (statistics.latency == nullptr) statistics.latency = std::make_unique<LatencyHistogram>();
    statistics.latency->add(duration.count());
  }
  note_latency(context, spec, duration / std::chrono::milliseconds(1));
  note_slow(context, spec, duration / std::chrono::microseconds(1));
  return reply;
}

Reply run(CommandContext& context, const CommandSpec& spec) {
  CommandServices& services = context.services();
  const bool is_monitored = services.channels.has_monitors() && !context.ready_key();
  if (is_monitored && runs_script(spec)) show_to_monitors(context);
  if (services.running_script == nullptr) {  // the commands of a script have another session
    services.keyspace.set_keeps_last_uses(context.session().keeps_idle_times);
  }
  Reply reply =
      services.settings.times_commands() ? run_timed(context, spec) : run_function(context, spec);
  if (is_monitored && (spec.flags & (kSkipMonitor | kAdmin)) == 0) show_to_monitors(context);
  Statistics& statistics = services.statistics;
  CommandStatistics& of_command = statistics.by_command[spec];
  if (!context.ready_key()) {
    ++statistics.commands;
    ++of_command.calls;
  }
  if (context.failures()) {
    of_command.failed += *context.failures();
  } else if (reply.is_error()) {
    ++of_command.failed;
    statistics.errors.note(reply.text());
  }
  return reply;
}

/// Queues a command between MULTI and EXEC, unless EXEC will fail.
void queue(CommandContext& context, const CommandSpec& spec) {
  Session& session = context.session();
  Transaction& transaction = *session.transaction;
  if (transaction.is_broken || any_watched_key_was_written(session, context.keyspace())) return;
  const Request& queued = transaction.requests.emplace_back(context.request());
  session.held_bytes.requests = session.held_bytes.requests + sizeof(queued) + queued.heap_bytes();
  if (asks_for_memory(context, spec)) transaction.asks_for_memory = true;
  if (may_write(context, spec)) transaction.may_write = true;
}

/// Runs a client's command, or queues it between MULTI and EXEC.
Reply run_or_queue(CommandContext& context, const CommandSpec* spec) {
  Session& session = context.session();
  Reply why;
  const bool refused = is_refused(context, spec, why);
  note_command(session, spec, context);
  if (refused) {
    if (spec != nullptr && (spec->flags & kRunsQueue) != 0) {
      end_transaction(context);  // without a transaction: ends the watches
      why = errors::transaction_aborted(why);
    } else if (session.transaction) {
      session.transaction->is_broken = true;
    }
    return reject(context, spec, std::move(why));
  }
  if (context.services().pause.is_active() && context.is_new_request() &&
      is_paused(context, *spec)) {
    context.pause();
    return Reply::nil();
  }
  if (!session.transaction || (spec->flags & kNotQueued) != 0) return run(context, *spec);
  queue(context, *spec);
  return Reply::status("QUEUED");
}

/// CLIENT CACHING applies to the next command or transaction other than CLIENT.
void end_caching(Session& session, const CommandSpec* spec) {
  const bool is_client = spec != nullptr && spec->name.starts_with("client|");
  if (!is_client && !session.transaction) session.tracking->caching_is_set = false;
}

}  // namespace

Reply run_command(CommandContext& context) {
  const CommandSpec* const spec = find_command(context.services(), context.request());
  Reply why;
  if (is_refused(context, spec, why)) return reject(context, spec, std::move(why));
  return run(context, *spec);
}

Reply run_client_command(CommandContext& context) {
  CommandServices& services = context.services();
  if (services.running_script == nullptr) {  // else the script replies it
    services.refuses_growth = services.memory_bytes_max != 0 &&
                              services.keyspace.needs_more_than(services.memory_bytes_max);
  }
  const CommandSpec* const spec = find_command(context.services(), context.request());
  Reply reply = run_or_queue(context, spec);
  if (context.session().tracking && !context.is_paused()) end_caching(context.session(), spec);
  return reply;
}

}  // namespace rushgate
