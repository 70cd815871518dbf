#include "engine/core/base/heap.h"
#include "engine/core/base/numbers.h"
#include <rushgate/request.h>

namespace rushgate {

void Request::add_signed(std::int64_t value) { add(DecimalText(value).view()); }

void Request::add_unsigned(std::uint64_t value) { add(DecimalText::of_unsigned(value).view()); }

std::size_t Request::heap_bytes() const {
  const bool is_inlined = ends_.capacity() <= kInlinedArguments;
  return rushgate::heap_bytes(bytes_) +
         (is_inlined ? 0 : heap_block(ends_.capacity() * sizeof(std::uint32_t)));
}

}  // namespace rushgate
