#include "storage/sqlite/sqlite_status.h"

#include <sqlite3.h>

#include "engine/core/base/concat.h"

namespace rushgate {
namespace {

// kInvalidArgument means that the order is invalid (order_store.h), so only constraints may produce
// it.
absl::StatusCode code_of(int sqlite_code) {
  switch (sqlite_code & 0xff) {  // an extended code holds the primary one in its low byte
    case SQLITE_CONSTRAINT:
      return absl::StatusCode::kInvalidArgument;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:  // lost the race for a lock too often
    case SQLITE_SCHEMA:    // another process changed it repeatedly
    case SQLITE_INTERRUPT:
    case SQLITE_ABORT:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:  // from the disk or its permissions: ours are checked before
    case SQLITE_PERM:
    case SQLITE_NOLFS:
    case SQLITE_NOMEM:
      return absl::StatusCode::kUnavailable;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::StatusCode::kDataLoss;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status to_absl(const SQLite::Exception& error, const char* doing, const std::string& file) {
  const int extended = error.getExtendedErrorCode();
  const int code = extended > 0 ? extended : error.getErrorCode();
  return absl::Status(code_of(error.getErrorCode()),
                      concat(doing, " ", file, ": ", error.what(), " (SQLite's code ", code, ")"));
}

}  // namespace rushgate
