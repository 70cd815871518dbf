// Distinguishes a database file from its copies.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include <rushgate/order_store.h>

namespace rushgate {

/// Returns the instance of a file. The id is the running system, the device and the inode; the place
/// is that system, the file systems that this process sees, and the path. kUnavailable: the file
/// cannot be found.
absl::StatusOr<DatabaseInstance> instance_of(const std::string& file);

}  // namespace rushgate
