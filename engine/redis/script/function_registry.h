// The function libraries of an engine, as a part of its changesets.
#pragma once

#include <memory>
#include <span>

#include "absl/status/status.h"
#include "engine/redis/script/function_library.h"

namespace rushgate {

class Changes;
class LuaHost;
struct StoredLibrary;

/// Not thread-safe: it belongs to the thread that holds the turn. Must outlive all changes that are
/// not committed.
class FunctionRegistry {
 public:
  FunctionRegistry() : current_(std::make_shared<const LibrarySet>()) {}
  FunctionRegistry(const FunctionRegistry&) = delete;
  FunctionRegistry& operator=(const FunctionRegistry&) = delete;

  [[nodiscard]] const LibrarySet& current() const { return *current_; }

  /// Loads the libraries of a store that is opened, by `host`, whose registry it is. kDataLoss: one
  /// of them cannot be loaded any more.
  absl::Status open(LuaHost& host, std::span<const StoredLibrary> stored);
  /// Replaces the libraries by a changed copy of current(). Writes the records of libraries that were
  /// added or removed. A rollback restores the old set.
  void replace(LibrarySet libraries, Changes& changes);

 private:
  std::shared_ptr<const LibrarySet> current_;
};

}  // namespace rushgate
