// The table at the end of a replay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "apps/replay/replay.h"
#include "engine/sale/audit/audit.h"

namespace rushgate {

struct Report {
  std::string file;
  std::size_t rows = 0;           // in the file …
  std::size_t skipped_lines = 0;  // … plus these malformed lines
  OutcomeCounts outcomes{};       // of rows that buy: per row, not per attempt
  EventCounts pays;               // of rows that pay …
  EventCounts cancels;            // … and cancel
  std::int64_t starts = 1;        // of this replay: above one if it was interrupted
  // Of the last start:
  double seconds = 0;  // from the first request to the last reply
  std::int64_t p50_ns = 0;
  std::int64_t p99_ns = 0;
  std::int64_t p999_ns = 0;
  std::optional<double>
      last_stored_seconds;  // from the first request; nothing: all were stored earlier
  // Of all accepted rows:
  std::optional<std::size_t> created;  // orders in the database; nothing: it was unreadable
  std::size_t dead = 0;                // among the dead letters
  std::optional<AuditReport> audit;    // nothing: the audit could not run

  [[nodiscard]] std::size_t completed() const;
  /// Returns true if every row has its final reply, every accepted row is an order or a dead
  /// letter, and the audit passed.
  [[nodiscard]] bool is_complete() const;
};

nlohmann::ordered_json to_json(const Report& report);
Report report_from_json(const nlohmann::ordered_json& json);

std::string format_report(const Report& report);

}  // namespace rushgate
