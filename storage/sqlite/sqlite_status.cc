#include "storage/sqlite/sqlite_status.h"

#include <sqlite3.h>

#include "absl/strings/str_cat.h"

namespace rushgate {
namespace {

// kInvalidArgument puts the blame on an order (order_store.h): nothing but a constraint may do
// that.
absl::StatusCode code_of(int sqlite_code) {
  switch (sqlite_code & 0xff) {  // an extended code holds the primary one in its low byte
    case SQLITE_CONSTRAINT:
      return absl::StatusCode::kInvalidArgument;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:  // lost the race for a lock too often
    case SQLITE_SCHEMA:    // somebody else changed it again and again
    case SQLITE_INTERRUPT:
    case SQLITE_ABORT:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:  // what the disk or its permissions say: our own are checked before
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
  return absl::Status(
      code_of(error.getErrorCode()),
      absl::StrCat(doing, " ", file, ": ", error.what(), " (SQLite's code ", code, ")"));
}

}  // namespace rushgate
