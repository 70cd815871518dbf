// Random names that are unique across processes, and random digits that cannot be guessed.
#pragma once

#include <cstddef>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"

namespace rushgate {

/// Returns 64 random bits in hexadecimal.
inline std::string random_name() {
  std::random_device random;
  return absl::StrCat(absl::Hex(random(), absl::kZeroPad8), absl::Hex(random(), absl::kZeroPad8));
}

/// Returns `count` hexadecimal digits, for passwords.
inline std::string random_digits(std::size_t count) {
  std::string digits;
  while (digits.size() < count) digits += random_name();
  digits.resize(count);
  return digits;
}

}  // namespace rushgate
