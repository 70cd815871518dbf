// Prefetches the memory of keys before the requests that use them run.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "engine/redis/keyspace/keyspace.h"
#include <rushgate/request.h>

namespace rushgate {

/// Collects the keys of several requests, so that their cache misses overlap. Does not copy them.
class KeyPrefetch {
 public:
  explicit KeyPrefetch(Keyspace& keyspace) : keyspace_(keyspace) {}

  /// Adds the first argument of a request, which is mostly a key.
  void add(std::uint8_t db, const Request& request) {
    if (request.size() < 2) return;
    const std::string_view key = request[1];
    if (!keys_.empty() && key == keys_.back() && db == db_) return;
    if (keys_.size() == kWarmedMax || db != db_) run();
    db_ = db;
    keys_.push_back(key);
  }

  /// Prefetches the memory of the keys since the last call.
  void run() {
    if (keys_.size() > 1) keyspace_.db(db_).warm(keys_);
    keys_.clear();
  }

 private:
  Keyspace& keyspace_;
  std::uint8_t db_ = 0;
  absl::InlinedVector<std::string_view, kWarmedMax> keys_;
};

}  // namespace rushgate
