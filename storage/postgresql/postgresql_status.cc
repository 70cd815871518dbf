#include "storage/postgresql/postgresql_status.h"

#include <string>

#include "engine/core/base/concat.h"

namespace rushgate {
namespace {

std::string field_of(const PGresult& result, int field) {
  const char* const text = PQresultErrorField(&result, field);
  return text == nullptr ? "" : text;
}

}  // namespace

// kInvalidArgument means that an order is at fault (order_store.h), so only constraints and ranges may
// produce it.
absl::StatusCode code_of_sqlstate(std::string_view sqlstate) {
  if (sqlstate == "40001" || sqlstate == "40P01") return absl::StatusCode::kAborted;
  if (sqlstate == "42P01") return absl::StatusCode::kNotFound;
  if (sqlstate == "42P07") return absl::StatusCode::kAlreadyExists;
  if (sqlstate == "25006") return absl::StatusCode::kUnavailable;  // read only: a standby
  const std::string_view group = sqlstate.substr(0, 2);
  if (group == "22" || group == "23") return absl::StatusCode::kInvalidArgument;
  // No connection; no resources; locks; stopped by an operator; an I/O error.
  for (const std::string_view passing : {"08", "53", "55", "57", "58"}) {
    if (group == passing) return absl::StatusCode::kUnavailable;
  }
  if (group == "25") return absl::StatusCode::kUnavailable;  // idle for too long in its transaction
  if (group == "XX") {
    return sqlstate == "XX001" || sqlstate == "XX002" ? absl::StatusCode::kDataLoss
                                                      : absl::StatusCode::kInternal;
  }
  return absl::StatusCode::kInternal;
}

absl::Status postgresql_error(const PGresult& result) {
  const std::string sqlstate = field_of(result, PG_DIAG_SQLSTATE);
  std::string message = field_of(result, PG_DIAG_MESSAGE_PRIMARY);
  const std::string detail = field_of(result, PG_DIAG_MESSAGE_DETAIL);
  if (!detail.empty()) message += concat(" (", detail, ")");
  if (sqlstate.empty()) {  // libpq's own: the connection is lost
    message = PQresultErrorMessage(&result);
    while (!message.empty() && message.back() == '\n') message.pop_back();
    return absl::UnavailableError(message);
  }
  return absl::Status(code_of_sqlstate(sqlstate), concat(message, " (SQLSTATE ", sqlstate, ")"));
}

bool ends_session(const PGresult& result) {
  const std::string severity = field_of(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  return severity == "FATAL" || severity == "PANIC";
}

}  // namespace rushgate
