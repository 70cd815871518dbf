// Public ids: the same numbers in another order, so that they do not show a day's volume.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace rushgate {

/// Maps positive 64-bit numbers one to one onto positive 64-bit numbers, and back. Immutable, so
/// thread-safe. Uniqueness stays, and order is lost.
///
/// The map is an alternating Feistel network over 63 bits (halves of 32 and 31), 12 rounds of
/// SipHash-2-4 with the key. Without the key the numbers do not show seconds, counters or volume.
/// The map authenticates nothing: every positive number is the image of some id.
class IdScrambler {
 public:
  /// `key`: 16 secret bytes. Another key is another map, so keep it as long as the ids. Returns
  /// kInvalidArgument for another size.
  static absl::StatusOr<IdScrambler> create(std::string_view key);

  /// Returns the public number of `id`, which must be positive.
  [[nodiscard]] std::int64_t scramble(std::int64_t id) const;
  /// Returns the id of a public number, which must be positive.
  [[nodiscard]] std::int64_t unscramble(std::int64_t number) const;

 private:
  IdScrambler(std::uint64_t key_0, std::uint64_t key_1) : key_0_(key_0), key_1_(key_1) {}

  [[nodiscard]] std::uint64_t forth(std::uint64_t bits) const;
  [[nodiscard]] std::uint64_t back(std::uint64_t bits) const;
  [[nodiscard]] std::uint64_t round_bits(int round, std::uint64_t half) const;

  std::uint64_t key_0_;
  std::uint64_t key_1_;
};

}  // namespace rushgate
