#include <optional>

#include "engine/base/numbers.h"
#include <rushgate/maybe_integer.h>

namespace rushgate {

void MaybeInteger::parse() {
  const std::optional<std::int64_t> integer = parse_int64(text_);
  is_integer_ = integer.has_value();
  integer_ = integer.value_or(0);
}

}  // namespace rushgate
