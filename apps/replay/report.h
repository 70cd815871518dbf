// What a replay came to: the table at its end.
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
  std::size_t skipped_lines = 0;  // … besides these, which were malformed
  OutcomeCounts outcomes{};       // rows, not attempts
  std::int64_t starts = 1;        // of this replay: more than one if it was interrupted
  // Of the last start:
  double seconds = 0;  // from the first request to the last answer
  std::int64_t p50_ns = 0;
  std::int64_t p99_ns = 0;
  std::int64_t p999_ns = 0;
  std::optional<double>
      last_stored_seconds;  // from the first request; nothing: all were stored before
  // Of all accepted rows:
  std::optional<std::size_t> created;  // orders in the database; nothing: it could not be read
  std::size_t dead = 0;                // among the dead letters
  std::optional<AuditReport> audit;    // nothing: it could not be made

  [[nodiscard]] std::size_t answered() const;
  /// Every row has its final answer; every accepted one is an order, or a dead letter; the audit
  /// passed.
  [[nodiscard]] bool is_complete() const;
};

nlohmann::ordered_json to_json(const Report& report);
Report report_from_json(const nlohmann::ordered_json& json);

std::string format_report(const Report& report);

}  // namespace rushgate
