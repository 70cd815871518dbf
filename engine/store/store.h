// What keeps the keyspace's bytes: a port. The engine decides what the bytes mean (docs/format.md);
// a store only keeps them.
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

/// How much of what was answered survives what.
enum class Durability : std::uint8_t {
  kMemory,  // nothing survives the process
  kOs,  // in the operating system's hands before the answer: survives the process, not the power
  kEverySec,  // as kOs, and on the disk within a second
  kSync,      // on the disk before the answer
};

/// A stretch of a stream's entries that one group appended: the unit in which streams are kept.
struct StreamRun {
  StreamId first;     // id of its first entry
  std::string bytes;  // the entries, encoded by the keyspace; never empty
};

/// Calls come from one thread at a time (whoever has the executor's turn), but for sync(), which
/// may come from any thread at any time. After load(). A failed commit() or sync() leaves open what
/// was kept: the engine then stops writing.
class Store {
 public:
  virtual ~Store() = default;

  /// Visits every state record in ascending order of keys, once, before anything else is asked.
  /// Views are valid during the call.
  virtual absl::Status load(
      absl::FunctionRef<void(std::string_view key, std::string_view value)> visit) = 0;

  /// Keeps all of the batch or, if interrupted, none of it; as safe as durability() says when it
  /// returns, unless the batch defers its sync. If it throws, for want of memory, nothing of the
  /// batch was kept.
  virtual absl::Status commit(const StoreBatch& batch) = 0;

  /// Makes every commit that has returned safe against power loss.
  virtual absl::Status sync() = 0;

  /// Appends to `runs` the runs of `stream` that may hold ids in [from, to], in ascending order:
  /// the run in which `from` falls first. Stops after at least one run once `bytes_max` is passed;
  /// an empty result means there is nothing (more).
  virtual absl::Status read_stream(std::uint64_t stream, StreamId from, StreamId to,
                                   std::size_t bytes_max, std::vector<StreamRun>& runs) = 0;

  /// The same, descending: the run in which `from` falls first, then those before it, down to the
  /// one in which `to` falls.
  virtual absl::Status read_stream_back(std::uint64_t stream, StreamId from, StreamId to,
                                        std::size_t bytes_max, std::vector<StreamRun>& runs) = 0;

  /// Sets `stream` to the greatest number of a stream that has runs, which need not be alive for
  /// the keyspace; 0 if there is none.
  virtual absl::Status find_last_stream(std::uint64_t& stream) = 0;

  [[nodiscard]] virtual Durability durability() const = 0;

  /// What it keeps in memory for good, which a bound on memory is to count.
  [[nodiscard]] virtual std::size_t memory_bytes() const { return 0; }
};

}  // namespace rushgate
