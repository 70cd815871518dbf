// Finds contradictions between the rows of a server database. Whether its files are sound is the server's
// concern.
#pragma once

#include "absl/status/status.h"
#include "storage/sql/pool.h"

namespace rushgate::sql {

/// Returns kDataLoss with the first contradictions. Reads everything, each statement as it is at one moment,
/// and locks nothing. Other errors are those of Pool.
absl::Status check_integrity(Pool& pool);

}  // namespace rushgate::sql
