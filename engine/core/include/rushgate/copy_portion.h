// Copies of stores and databases in portions, so that others get the disk in between.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace rushgate {

/// Something that was copied, and is on the disk.
struct CopyPortion {
  static constexpr std::uint64_t kBytes = std::uint64_t{1} << 20;  // at most, about

  std::uint64_t bytes = 0;
  std::uint64_t bytes_left = 0;  // to copy by the same call
};

/// Called after each portion, on the thread that copies. It may wait: others go on meanwhile. An error
/// ends the copy, and is its result.
using AfterPortion = absl::FunctionRef<absl::Status(const CopyPortion& portion)>;

}  // namespace rushgate
