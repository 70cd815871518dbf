// Comparison of passwords.
#pragma once

#include <cstddef>
#include <string_view>

namespace rushgate {

/// Returns true if `given` equals the secret, which has at least one byte. The time depends only on
/// the size of `given`: every byte is compared, also after the first difference.
template <class Secret>
bool equals_secret(const Secret& secret, std::string_view given) {
  const std::size_t size = secret.size();
  volatile unsigned char difference = size == given.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const int unequal_bits = secret[i % size] ^ given[i];
    difference = static_cast<unsigned char>(difference | unequal_bits);
  }
  return difference == 0;
}

}  // namespace rushgate
