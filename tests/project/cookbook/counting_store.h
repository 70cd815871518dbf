// A Store of one's own: it counts the commits of another store.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include <rushgate/store.h>
#include <rushgate/testing_stores.h>

/// Counts on the thread that commits. Other threads may read the counts.
struct CommitCounts {
  std::atomic<std::size_t> commits = 0;
  std::atomic<std::size_t> bytes = 0;
};

class CountingStore final : public rushgate::faults::ForwardingStore {
 public:
  /// `counts` must outlive the store.
  CountingStore(std::unique_ptr<rushgate::Store> store, CommitCounts& counts)
      : ForwardingStore(std::move(store)), counts_(counts) {}

  absl::Status commit(const rushgate::StoreBatch& batch) override {
    absl::Status committed = store().commit(batch);
    if (committed.ok()) {
      ++counts_.commits;
      counts_.bytes += batch.size_bytes();
    }
    return committed;
  }

 private:
  CommitCounts& counts_;
};
