// The buffers of a client's connection, for CLIENT LIST.
#pragma once

#include <cstddef>

#include "engine/core/base/shared_value.h"

namespace rushgate {

/// All 0 for a client of this process, which has no connection. Its server changes it. Any thread
/// may read it.
struct ConnectionBuffers {
  using Count = SharedValue<std::size_t>;

  // ---- Input, in bytes ----
  Count input{0};       // received, not parsed yet: qbuf
  Count input_free{0};  // capacity for more: qbuf-free
  Count requests{0};    // parsed, without a reply yet: argv-mem

  // ---- Output that the client has not read ----
  Count reply_capacity{0};  // bytes of the buffer for the next replies: rbs
  Count reply_peak{0};      // bytes that it had when it was last sent: rbp
  Count replies{0};         // bytes in it: obl
  Count output_chunks{0};   // full buffers, messages and large strings: oll
  Count output_bytes{0};    // their memory: omem

  /// Returns the memory of them all: a part of tot-mem.
  [[nodiscard]] std::size_t memory_bytes() const {
    return input + input_free + requests + reply_capacity + output_bytes;
  }
};

}  // namespace rushgate
