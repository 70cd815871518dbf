// The port for durable storage of the keyspace. The engine defines the meaning of the bytes
// (docs/format.md); a store only keeps them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "engine/base/stream_id.h"
#include "engine/store/store_batch.h"

namespace rushgate {

/// Which failures a reply's effects survive.
enum class Durability : std::uint8_t {
  kMemory,  // lost when the process ends
  kOs,  // written to the operating system before the reply: survives the process, not a power cut
  kEverySec,  // as kOs, and fsynced within a second
  kSync,      // fsynced before the reply
};

/// A segment: consecutive entries of a stream that one commit batch appended.
struct StreamRun {
  StreamId first;     // id of its first entry
  std::string bytes;  // the entries, encoded by the keyspace; never empty
};

/// Calls come from one thread at a time (the thread that holds the executor's turn), after load().
/// sync() alone may be called from any thread at any time. After a failed commit() or sync() it is
/// undefined which writes were kept; the engine then stops writing.
class Store {
 public:
  virtual ~Store() = default;

  /// Visits every state record in ascending order of keys. Called once, before any other function.
  /// The views are valid during the call.
  virtual absl::Status load(
      absl::FunctionRef<void(std::string_view key, std::string_view value)> visit) = 0;

  /// Stores the batch atomically, as durable as durability() says when it returns, unless
  /// the batch defers its sync. If it throws (out of memory), nothing of the batch was
  /// stored.
  virtual absl::Status commit(const StoreBatch& batch) = 0;

  /// Makes every finished commit safe against power loss.
  virtual absl::Status sync() = 0;

  /// Appends to `runs` the segments of `stream` that may hold ids in [from, to], in ascending
  /// order, beginning with the segment that contains `from`. Stops after at least one segment once
  /// `bytes_max` is exceeded. An empty result means that there are no more.
  virtual absl::Status read_stream(std::uint64_t stream, StreamId from, StreamId to,
                                   std::size_t bytes_max, std::vector<StreamRun>& runs) = 0;

  /// As read_stream(), in descending order: from the segment that contains `from` down to the one
  /// that contains `to`.
  virtual absl::Status read_stream_back(std::uint64_t stream, StreamId from, StreamId to,
                                        std::size_t bytes_max, std::vector<StreamRun>& runs) = 0;

  /// Sets `stream` to the greatest number of a stream that has segments, also if the keyspace has
  /// deleted it; 0 if there is none.
  virtual absl::Status find_last_stream(std::uint64_t& stream) = 0;

  [[nodiscard]] virtual Durability durability() const = 0;

  /// Returns false if the store drops state records. A batch for it need not have any. Constant.
  [[nodiscard]] virtual bool keeps_state() const { return true; }

  /// Returns the memory that the store uses permanently. It counts towards the memory limit.
  [[nodiscard]] virtual std::size_t memory_bytes() const { return 0; }
};

}  // namespace rushgate
