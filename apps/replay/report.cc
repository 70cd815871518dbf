#include "apps/replay/report.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

#include "apps/audit_text.h"
#include "apps/patience.h"
#include "apps/text_table.h"

namespace rushgate {
namespace {

using Json = nlohmann::ordered_json;

/// In the order of the table. kRefused is missing: the program's sales have no custom admission
/// script.
constexpr std::array<Outcome, kOutcomes - 1> kRowsOfTable = {
    Outcome::kAccepted,     Outcome::kSoldOut,    Outcome::kLimitReached, Outcome::kDayLimitReached,
    Outcome::kTokenRefused, Outcome::kNotStarted, Outcome::kEnded,        Outcome::kUnknownVoucher,
    Outcome::kKeyReused,    Outcome::kOverloaded, Outcome::kUnavailable,  Outcome::kOutcomeUnknown,
    Outcome::kFailed};

/// Returns true if each row has an outcome that decides it.
bool is_decided(const EventCounts& counts) {
  for (std::size_t i = 0; i < kChangeOutcomes; ++i) {
    if (counts.outcomes[i] > 0 && is_undecided(static_cast<ChangeOutcome>(i))) return false;
  }
  return true;
}

/// The name of the counter of rows whose purchase was refused.
constexpr std::string_view kWithoutOrder = "no order";

/// Visits each counter with its name.
template <class Counts, class Visit>
void for_each_count(Counts& counts, Visit visit) {
  for (std::size_t i = 0; i < kChangeOutcomes; ++i) {
    visit(change_outcome_name(static_cast<ChangeOutcome>(i)), counts.outcomes[i]);
  }
  visit(kWithoutOrder, counts.without_order);
}

Json to_json(const EventCounts& counts) {
  Json json = Json::object();
  for_each_count(
      counts, [&](std::string_view name, std::size_t count) { json[std::string(name)] = count; });
  return json;
}

EventCounts event_counts_from_json(const Json& json) {
  EventCounts counts;
  for_each_count(counts, [&](std::string_view name, std::size_t& count) {
    json.at(std::string(name)).get_to(count);
  });
  return counts;
}

/// Returns true if the outcome is shown only when its count is above zero.
bool is_unusual(Outcome outcome) {
  return outcome == Outcome::kKeyReused || outcome == Outcome::kTokenRefused ||
         is_undecided(outcome);
}

std::string duration_text(std::int64_t ns) {
  const auto value = static_cast<double>(ns);
  if (ns < 1'000'000) return fmt::format("{:.1f} us", value / 1e3);
  if (ns < 1'000'000'000) return fmt::format("{:.1f} ms", value / 1e6);
  return fmt::format("{:.2f} s", value / 1e9);
}

std::string last_stored_text(const Report& report) {
  if (!report.last_stored_seconds) return "all before this start";
  const double after = std::max(0.0, *report.last_stored_seconds - report.seconds);
  return fmt::format("{:.2f} s after the first request, {:.2f} s after the last reply",
                     *report.last_stored_seconds, after);
}

/// Adds a line for each outcome that occurred.
void add_events(TextTable& table, RowEvent event, const EventCounts& counts) {
  for_each_count(counts, [&](std::string_view name, std::size_t count) {
    if (count > 0)
      table.add({fmt::format("  {}: {}", row_event_name(event), name), count_text(count)});
  });
}

std::string format_counts(const Report& report) {
  TextTable table("lr");
  table.add({"requests", count_text(report.rows)});
  for (const Outcome outcome : kRowsOfTable) {
    const std::size_t count = report.outcomes[static_cast<std::size_t>(outcome)];
    if (count == 0 && is_unusual(outcome)) continue;
    table.add({fmt::format("  {}", outcome_name(outcome)), count_text(count)});
  }
  add_events(table, RowEvent::kPay, report.pays);
  add_events(table, RowEvent::kCancel, report.cancels);
  if (report.completed() < report.rows) {
    table.add({"  not sent", count_text(report.rows - report.completed())});
  }
  if (report.skipped_lines > 0) table.add({"lines skipped", count_text(report.skipped_lines)});
  table.add({"orders created", report.created ? count_text(*report.created) : "unknown"});
  if (report.dead > 0) table.add({"dead letters", count_text(report.dead)});
  return table.text();
}

std::string format_times(const Report& report) {
  const auto completed = static_cast<double>(report.completed());
  const double rate = report.seconds > 0 ? completed / report.seconds : 0;
  TextTable table("ll");
  table.add({"rate", fmt::format("{} requests/s, in {:.2f} s",
                                 grouped(static_cast<std::int64_t>(rate)), report.seconds)});
  table.add({"latency", fmt::format("p50 {}, p99 {}, p99.9 {}", duration_text(report.p50_ns),
                                    duration_text(report.p99_ns), duration_text(report.p999_ns))});
  table.add({"last order stored", last_stored_text(report)});
  if (report.starts > 1) {
    table.add({"starts", fmt::format("{}; the times are of the last one", report.starts)});
  }
  return table.text();
}

}  // namespace

std::size_t Report::completed() const {
  const std::size_t events = pays.total() + cancels.total();
  return std::accumulate(outcomes.begin(), outcomes.end(), events);
}

bool Report::is_complete() const {
  const auto count = [&](Outcome outcome) { return outcomes[static_cast<std::size_t>(outcome)]; };
  const bool is_bought = std::ranges::none_of(
      kRowsOfTable, [&](Outcome outcome) { return is_undecided(outcome) && count(outcome) > 0; });
  const bool has_replies = is_bought && is_decided(pays) && is_decided(cancels);
  return completed() == rows && has_replies && created &&
         *created + dead == count(Outcome::kAccepted) && audit && audit->passed();
}

Json to_json(const Report& report) {
  Json outcomes = Json::object();
  for (const Outcome outcome : kRowsOfTable) {
    outcomes[std::string(outcome_name(outcome))] =
        report.outcomes[static_cast<std::size_t>(outcome)];
  }
  Json json = {{"file", report.file},
               {"rows", report.rows},
               {"skipped_lines", report.skipped_lines},
               {"outcomes", outcomes},
               {"pay", to_json(report.pays)},
               {"cancel", to_json(report.cancels)},
               {"starts", report.starts},
               {"seconds", report.seconds},
               {"p50_ns", report.p50_ns},
               {"p99_ns", report.p99_ns},
               {"p999_ns", report.p999_ns},
               {"last_stored_seconds", nullptr},
               {"created", nullptr},
               {"dead", report.dead},
               {"audit", nullptr}};
  if (report.last_stored_seconds) json["last_stored_seconds"] = *report.last_stored_seconds;
  if (report.created) json["created"] = *report.created;
  if (report.audit) json["audit"] = to_json(*report.audit);
  return json;
}

Report report_from_json(const Json& json) {
  Report report;
  json.at("file").get_to(report.file);
  json.at("rows").get_to(report.rows);
  json.at("skipped_lines").get_to(report.skipped_lines);
  for (const Outcome outcome : kRowsOfTable) {
    json.at("outcomes")
        .at(std::string(outcome_name(outcome)))
        .get_to(report.outcomes[static_cast<std::size_t>(outcome)]);
  }
  // Older versions wrote neither.
  if (json.contains("pay")) report.pays = event_counts_from_json(json.at("pay"));
  if (json.contains("cancel")) report.cancels = event_counts_from_json(json.at("cancel"));
  json.at("starts").get_to(report.starts);
  json.at("seconds").get_to(report.seconds);
  json.at("p50_ns").get_to(report.p50_ns);
  json.at("p99_ns").get_to(report.p99_ns);
  json.at("p999_ns").get_to(report.p999_ns);
  const Json& last_stored = json.at("last_stored_seconds");
  if (!last_stored.is_null()) report.last_stored_seconds = last_stored.get<double>();
  const Json& created = json.at("created");
  if (!created.is_null()) report.created = created.get<std::size_t>();
  json.at("dead").get_to(report.dead);
  if (!json.at("audit").is_null()) report.audit = audit_from_json(json.at("audit"));
  return report;
}

std::string format_report(const Report& report) {
  std::string text =
      report.file + '\n' + format_counts(report) + '\n' + format_times(report) + '\n';
  text += report.audit ? format_audit(*report.audit) : "no audit: the stores are unreadable\n";
  return text;
}

}  // namespace rushgate
