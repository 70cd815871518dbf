#include "apps/comparison/comparison_report.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "apps/text_table.h"

namespace rushgate::comparison {
namespace {

using nlohmann::ordered_json;
using strategies::Fault;
using strategies::ScheduleKind;

std::string duration_text(std::int64_t ns) {
  const double us = static_cast<double>(ns) / 1'000;
  if (us < 1) return "< 1 us";
  if (us < 1'000) return fmt::format("{:.0f} us", us);
  return fmt::format("{:.1f} ms", us / 1'000);
}

ordered_json to_json(const RushResult& rush) {
  ordered_json json;
  json["schedule"] = strategies::schedule_name(rush.schedule);
  json["killed"] = rush.was_killed;
  json["accepted"] = rush.accepted;
  json["orders"] = rush.orders;
  for (const Fault fault : kFaults) json[fault_name(fault)] = rush.faults.at(fault);
  return json;
}

ordered_json to_json(const StrategyResult& result) {
  const RushResult& unforced = result.rushes.front();
  ordered_json json;
  json["letter"] = result.kind->letter;
  json["name"] = result.kind->name;
  json["safe"] = is_safe(*result.kind);
  json["rate"] = std::round(result.rate());
  json["p50_ns"] = unforced.p50_ns;
  json["p99_ns"] = unforced.p99_ns;
  for (const Fault fault : kFaults) json[fault_name(fault)] = result.worst(fault);
  json["forced"] = ordered_json::array();
  for (const ScheduleKind schedule : result.forced()) {
    json["forced"].push_back(strategies::schedule_text(schedule));
  }
  json["rushes"] = ordered_json::array();
  for (const RushResult& rush : result.rushes) json["rushes"].push_back(to_json(rush));
  return json;
}

/// Returns one line for each schedule, with the strategies on which it was forced.
std::string schedules_text(const std::vector<StrategyResult>& results) {
  std::vector<std::pair<ScheduleKind, std::string>> letters;
  for (const StrategyResult& result : results) {
    for (const ScheduleKind schedule : result.forced()) {
      auto found = std::find_if(letters.begin(), letters.end(),
                                [&](const auto& entry) { return entry.first == schedule; });
      if (found == letters.end()) found = letters.insert(letters.end(), {schedule, ""});
      found->second += (found->second.empty() ? "" : ", ") + std::string(result.kind->letter);
    }
  }
  std::string text;
  for (const auto& [schedule, names] : letters) {
    text += fmt::format("  {}: {}.\n", names, strategies::schedule_text(schedule));
  }
  return text.empty() ? "" : "\nForced, because they are too rare by chance:\n" + text;
}

}  // namespace

std::string_view fault_name(Fault fault) {
  switch (fault) {
    case Fault::kOversold:
      return "oversold";
    case Fault::kDoubled:
      return "doubled";
    case Fault::kTurnedAway:
      return "turned_away";
    case Fault::kLost:
      return "lost";
    case Fault::kLeftBehind:
      return "left_behind";
    case Fault::kUnsold:
      return "unsold";
  }
  return "";
}

ordered_json to_json(const ComparisonOptions& options, const std::vector<StrategyResult>& results) {
  ordered_json json;
  json["users"] = options.users;
  json["stock"] = options.stock;
  json["threads"] = options.threads;
  json["seed"] = options.seed;
  json["keyspace"] = options.redis_url.empty() ? "in the process, on disk" : "on a Redis";
  json["strategies"] = ordered_json::array();
  for (const StrategyResult& result : results) json["strategies"].push_back(to_json(result));
  return json;
}

std::string format_comparison(const ComparisonOptions& options,
                              const std::vector<StrategyResult>& results) {
  std::string text = fmt::format("{} users click twice each for a stock of {}; {} threads\n\n",
                                 grouped(options.users), grouped(options.stock), options.threads);
  TextTable table("llrrrrrrrrr");
  table.add({"", "strategy", "rate", "p50", "p99", "oversold", "doubled", "turned away", "lost",
             "left behind", "unsold"});
  for (const StrategyResult& result : results) {
    const RushResult& unforced = result.rushes.front();
    std::vector<std::string> row = {std::string(result.kind->letter),
                                    std::string(result.kind->name),
                                    grouped(static_cast<std::int64_t>(result.rate())) + "/s",
                                    duration_text(unforced.p50_ns), duration_text(unforced.p99_ns)};
    for (const Fault fault : kFaults) {
      const std::int64_t count = result.worst(fault);
      row.push_back(count == 0 ? "-" : grouped(count));
    }
    table.add(std::move(row));
  }
  text += table.text();
  text +=
      "\nRate and latency: clicks served, nothing forced. Faults: the worst of all rushes.\n"
      "Lost: accepted, but without an order. Left behind: stock that is missing without an order.\n"
      "Unsold: left in the stock, although a user was told that there is none.\n"
      "Lost and left behind are counted after the selling process was killed half-way and "
      "restarted.\n";
  return text + schedules_text(results);
}

}  // namespace rushgate::comparison
