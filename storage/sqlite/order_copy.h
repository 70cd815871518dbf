// Copies an order database while it is used.
#pragma once

#include <filesystem>

#include <SQLiteCpp/Database.h>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include <rushgate/copy_portion.h>

namespace rushgate {

/// Runs a function at a moment at which nothing is committed.
using AtRest = absl::FunctionRef<absl::Status(absl::FunctionRef<void()> take_snapshot)>;

/// Copies the database of `connection`, on which nothing else may run, to a new file, as it is when
/// `at_rest` calls its argument. Syncs the file, and not its directory. Throws SQLite::Exception.
absl::Status copy_database(SQLite::Database& connection, const std::filesystem::path& file,
                           AtRest at_rest, AfterPortion after);

}  // namespace rushgate
