// The files in a sale's directory.
#pragma once

#include <filesystem>

#include "absl/status/status.h"

namespace rushgate {

/// Returns the directory of the keyspace in a sale's directory.
inline std::filesystem::path keyspace_in(const std::filesystem::path& dir) {
  return dir / "keyspace";
}
/// Returns the file of the order database in a sale's directory.
inline std::filesystem::path orders_in(const std::filesystem::path& dir) {
  return dir / "orders.db";
}
/// Returns the file that says that the keyspace in a sale's directory is not the sale's: it was moved away,
/// or is being moved back.
inline std::filesystem::path moved_mark_in(const std::filesystem::path& dir) {
  return dir / "keyspace.moved_to";
}

/// Creates a sale's directory and its missing parents. kInvalidArgument: it cannot be created, with
/// the reason.
absl::Status create_sale_directory(const std::filesystem::path& dir);

}  // namespace rushgate
