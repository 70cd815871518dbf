// The strings of the bitmap commands, and positions in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/core/base/numbers.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/keyspace/object.h"

namespace rushgate {

/// The bytes of a string, without a copy unless it is an integer. Valid until the string changes.
class BitmapBytes {
 public:
  /// A missing string (null) has no bytes.
  explicit BitmapBytes(const Object* object);
  [[nodiscard]] std::string_view view() const { return view_; }

 private:
  DecimalText digits_;
  std::string_view view_;
};

/// Parses the offset of a bit. Empty if it is invalid, or beyond a string of `bytes_max`. If `width`
/// is not 0, "#n" is the offset of the nth integer of so many bits.
std::optional<std::uint64_t> parse_bit_offset(std::string_view text, std::size_t bytes_max,
                                              unsigned width = 0);

/// Makes the string at a key editable and at least `size` bytes long. `object` is the one at the
/// key. If it is null, creates a string. Returns true if the string was created or grew.
bool make_bitmap(Database& db, std::string_view key, Object*& object, std::size_t size);

/// Replaces `count` bits of a string that make_bitmap() returned, which must be long enough.
void write_bits(Database& db, Object& object, std::uint64_t position, unsigned count,
                std::uint64_t value);

}  // namespace rushgate
