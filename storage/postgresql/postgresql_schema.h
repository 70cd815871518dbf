// The tables in a PostgreSQL.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace rushgate {

/// Returns the statements of each migration, the oldest first.
std::span<const std::vector<std::string>> postgresql_migrations();

}  // namespace rushgate
