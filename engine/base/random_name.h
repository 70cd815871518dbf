// Random names that are unique across processes.
#pragma once

#include <random>
#include <string>

#include "absl/strings/str_cat.h"

namespace rushgate {

/// Returns 64 random bits in hexadecimal.
inline std::string random_name() {
  std::random_device random;
  return absl::StrCat(absl::Hex(random(), absl::kZeroPad8), absl::Hex(random(), absl::kZeroPad8));
}

}  // namespace rushgate
