// The tables in a MariaDB.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace rushgate {

/// Returns the statements of each migration, the oldest first. MariaDB commits each statement of a
/// migration, so one that was interrupted is run again.
std::span<const std::vector<std::string>> mysql_migrations();

}  // namespace rushgate
