// Pending output of a client.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/resp/resp_encoder.h"
#include <rushgate/reply.h>

namespace rushgate {

/// A queue of chunks. Small replies share a chunk. A large string is moved into its own chunk, not
/// copied. Not thread-safe.
class OutputQueue {
 public:
  static constexpr std::size_t kLargeBytes = 16 * 1'024;  // a string of this size is moved
  static constexpr std::size_t kChunkBytes = 64 * 1'024;  // a chunk of this size is complete
  static constexpr std::size_t kKeptBytes = 1'024;        // an empty queue keeps no larger buffer

  /// Appends the bytes of append_reply(). The first form leaves the reply unspecified.
  void append(Reply&& reply, RespVersion version);
  void append(const Reply& reply, RespVersion version);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

  /// Fills `views` with the first bytes, in order. Returns how many views were filled, 0 if the
  /// queue is empty. The views are valid until the next change.
  std::size_t front(std::span<std::string_view> views) const;
  /// Removes `bytes` from the front, at most size().
  void consume(std::size_t bytes);
  void clear();

  /// Returns the memory on the heap.
  [[nodiscard]] std::size_t memory_bytes() const;

  // ---- Its parts, for CLIENT LIST ----
  /// Returns the unsent bytes of the chunk that receives the next small reply.
  [[nodiscard]] std::size_t tail_bytes() const {
    return tail_.size() - (chunk_count() == 0 ? consumed_ : 0);
  }
  [[nodiscard]] std::size_t tail_capacity() const { return tail_.capacity(); }
  /// Returns the size of the last tail that was complete or sent.
  [[nodiscard]] std::size_t last_tail_bytes() const { return expected_bytes_; }
  [[nodiscard]] std::size_t chunk_count() const { return chunks_.size() - first_; }
  /// Returns the heap memory of the complete chunks.
  [[nodiscard]] std::size_t chunk_bytes() const { return chunk_bytes_; }

 private:
  void begin_tail();
  void complete_tail();
  void add_chunk(std::string chunk);
  void pop_chunk();

  std::vector<std::string> chunks_;  // complete; those before first_ are sent
  std::size_t first_ = 0;
  std::string tail_;          // receives the next small reply
  std::size_t consumed_ = 0;  // of the first chunk, or else of tail_
  std::size_t size_ = 0;
  std::size_t chunk_bytes_ = 0;     // heap memory of chunks_ from first_ on
  std::size_t expected_bytes_ = 0;  // the size of the last tail: the next may be similar
};

}  // namespace rushgate
