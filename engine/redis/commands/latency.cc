// LATENCY: https://redis.io/docs/latest/commands/latency-histogram/
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/base/concat.h"
#include "engine/core/base/latency_histogram.h"
#include "engine/core/base/time_units.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/command_table.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/help_reply.h"
#include "engine/redis/commands/latency_events.h"
#include "engine/redis/commands/latency_graph.h"
#include "engine/redis/commands/reply_allowance.h"

namespace rushgate {
namespace {

// ---- LATENCY HISTOGRAM ----

/// The steps of the distribution, in ns: 1,024 times a power of two, the last one unbounded.
constexpr std::int64_t kFirstStepNs = 1'024;
constexpr std::int64_t kLastStepNs = std::int64_t{1} << 30;

/// Returns the step in microseconds as Redis names it: the end of the bucket in its histogram,
/// whose buckets are 1/128 of a step wide.
std::int64_t step_us(std::int64_t step_ns) {
  constexpr std::int64_t kBuckets = 128;
  const std::int64_t bucket_ns = step_ns == kLastStepNs ? 0 : step_ns / kBuckets;
  return (step_ns + bucket_ns - 1) / kNsPerUs;
}

/// Returns the end of the bucket of `step_ns` in our histogram.
std::int64_t end_of(std::int64_t step_ns) {
  constexpr std::int64_t kBuckets = 64;
  return step_ns + step_ns / kBuckets - 1;
}

/// Returns the number of calls up to each step at which it grows.
Reply distribution_reply(const LatencyHistogram& latency) {
  std::vector<Reply> steps_and_counts;
  std::int64_t step_ns = kFirstStepNs;
  std::uint64_t count = 0;
  std::uint64_t shown = 0;
  const auto end_step = [&] {
    if (count == shown) return;
    steps_and_counts.push_back(Reply::integer(step_us(step_ns)));
    steps_and_counts.push_back(Reply::integer(static_cast<std::int64_t>(count)));
    shown = count;
  };
  latency.for_each_bucket([&](std::int64_t ns, std::uint64_t calls) {
    while (ns > end_of(step_ns) && step_ns < kLastStepNs) {
      end_step();
      step_ns *= 2;
    }
    count += calls;
  });
  end_step();
  return Reply::map(std::move(steps_and_counts));
}

/// Adds the histogram of a command, if one was measured.
void add_histogram(const CommandContext& context, const CommandSpec& spec,
                   std::vector<Reply>& histograms) {
  const LatencyHistogram* const latency =
      context.services().statistics.by_command[spec].latency.get();
  if (latency == nullptr) return;
  histograms.push_back(Reply::bulk(spec.name));
  histograms.push_back(
      Reply::map({Reply::bulk("calls"), Reply::integer(static_cast<std::int64_t>(latency->count())),
                  Reply::bulk("histogram_usec"), distribution_reply(*latency)}));
}

Reply latency_histogram_command(CommandContext& context) {
  std::vector<Reply> histograms;
  ReplyAllowance allowance(context.session().reply_bytes_max);
  if (context.size() == 2) {
    for (const CommandSpec& spec : command_table()) add_histogram(context, spec, histograms);
  }
  for (const std::string_view name : context.request().subspan(2)) {
    const CommandSpec* const spec = find_full_name(name);
    if (spec == nullptr) continue;
    const std::size_t before = histograms.size();
    add_histogram(context, *spec, histograms);
    for (const CommandSpec& subcommand : subcommands_of(*spec))
      add_histogram(context, subcommand, histograms);
    for (std::size_t i = before; i < histograms.size(); ++i) {
      if (!allowance.take(memory_bytes(histograms[i]))) return errors::reply_too_large();
    }
  }
  return Reply::map(std::move(histograms));
}

// ---- Events ----

Reply latency_latest_command(CommandContext& context) {
  std::vector<Reply> events;
  for (const auto& [name, event] : context.services().latency_events.all()) {
    const LatencySample& newest = event.samples.back();
    events.push_back(Reply::array({Reply::bulk(name), Reply::integer(newest.time_s),
                                   Reply::integer(newest.ms), Reply::integer(event.ms_max)}));
  }
  return Reply::array(std::move(events));
}

Reply latency_history_command(CommandContext& context) {
  std::vector<Reply> samples;
  if (const LatencyEvent* const event = context.services().latency_events.find(context[2])) {
    for (const LatencySample& sample : event->samples)
      samples.push_back(Reply::array({Reply::integer(sample.time_s), Reply::integer(sample.ms)}));
  }
  return Reply::array(std::move(samples));
}

Reply latency_graph_command(CommandContext& context) {
  const LatencyEvent* const event = context.services().latency_events.find(context[2]);
  if (event == nullptr) {
    return errors::one_line("ERR No samples available for event '" +
                            std::string(errors::as_c_string(context[2])) + "'");
  }
  return Reply::verbatim("txt:" +
                         latency_graph(context[2], *event, context.now_ms() / kMsPerSecond));
}

Reply latency_reset_command(CommandContext& context) {
  LatencyEvents& events = context.services().latency_events;
  std::size_t count = 0;
  if (context.size() == 2) count = events.reset_all();
  for (const std::string_view name : context.request().subspan(2)) {
    if (events.reset(name)) ++count;
  }
  return Reply::integer(static_cast<std::int64_t>(count));
}

/// Returns the event's line of the report: its samples, their average, and the longest one.
std::string described(const std::string& name, const LatencyEvent& event) {
  std::int64_t sum_ms = 0;
  for (const LatencySample& sample : event.samples) sum_ms += sample.ms;
  return concat(name, ": ", event.samples.size(), " samples, average ",
                sum_ms / static_cast<std::int64_t>(event.samples.size()), " ms, longest ",
                event.ms_max, " ms.\n");
}

Reply latency_doctor_command(CommandContext& context) {
  const CommandServices& services = context.services();
  std::string report;
  for (const auto& [name, event] : services.latency_events.all()) report += described(name, event);
  if (!report.empty()) {
    report += "SLOWLOG GET shows the commands that were slow.\n";
  } else if (services.settings.latency_monitor_threshold_ms <= 0) {
    report =
        "Latency monitoring is disabled. CONFIG SET latency-monitor-threshold <milliseconds> "
        "enables it.\n";
  } else {
    report = "No command has reached latency-monitor-threshold.\n";
  }
  return Reply::verbatim("txt:" + report);
}

Reply latency_help_command(CommandContext&) {
  static constexpr std::string_view kLines[] = {
      "LATENCY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
      "DOCTOR",
      "    Return a human readable latency analysis report.",
      "GRAPH <event>",
      "    Return an ASCII latency graph for the <event> class.",
      "HISTORY <event>",
      "    Return time-latency samples for the <event> class.",
      "LATEST",
      "    Return the latest latency samples for all events.",
      "RESET [<event> ...]",
      "    Reset latency data of one or more <event> classes.",
      "    (default: reset all data for all event classes)",
      "HISTOGRAM [COMMAND ...]",
      "    Return a cumulative distribution of latencies in the format of a histogram for the "
      "specified command names.",
      "    If no commands are specified then all histograms are replied.",
      "HELP",
      "    Prints this help.",
  };
  return help_reply(kLines);
}

// ---- The records ----

constexpr CommandSpec kLatencyCommands[] = {
    {.name = "latency",
     .arity = -2,
     .flags = kContainer,
     .summary = "Describes the durations of commands.",
     .since = "2.8.13",
     .complexity = "Depends on the subcommand."},
    {.name = "latency|doctor",
     .function = latency_doctor_command,
     .arity = 2,
     .flags = kAdministers,
     .summary = "Returns a report about slow commands.",
     .since = "2.8.13",
     .complexity = "O(1)"},
    {.name = "latency|graph",
     .function = latency_graph_command,
     .arity = 3,
     .flags = kAdministers,
     .syntax = "event",
     .summary = "Draws the durations of an event.",
     .since = "2.8.13",
     .complexity = "O(1)"},
    help_record("latency|help", latency_help_command, "2.8.13"),
    {.name = "latency|histogram",
     .function = latency_histogram_command,
     .arity = -2,
     .flags = kAdministers,
     .syntax = "[command [command ...]]",
     .summary = "Returns the distributions of the durations of commands.",
     .since = "7.0.0",
     .complexity = "O(N), N commands"},
    {.name = "latency|history",
     .function = latency_history_command,
     .arity = 3,
     .flags = kAdministers,
     .syntax = "event",
     .summary = "Returns the times and durations of an event.",
     .since = "2.8.13",
     .complexity = "O(1)"},
    {.name = "latency|latest",
     .function = latency_latest_command,
     .arity = 2,
     .flags = kAdministers,
     .summary = "Returns the newest and the longest duration of each event.",
     .since = "2.8.13",
     .complexity = "O(1)"},
    {.name = "latency|reset",
     .function = latency_reset_command,
     .arity = -2,
     .flags = kAdministers,
     .syntax = "[event [event ...]]",
     .summary = "Removes events.",
     .since = "2.8.13",
     .complexity = "O(1)"},
};

}  // namespace

CommandFamily latency_commands() { return {CommandGroup::kServer, kLatencyCommands}; }

}  // namespace rushgate
