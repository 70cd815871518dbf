// The place of a program's commands among the services of an engine.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace rushgate {

class ProgramCommandTable;

/// The records of the program's commands, if there are any. Thread-safe.
class InstalledCommands {
 public:
  /// Replaces the records. Those before stay in memory, because sessions refer to them.
  void install(std::shared_ptr<const ProgramCommandTable> table) {
    const std::lock_guard lock(mutex_);
    current_.store(table.get(), std::memory_order_release);
    all_.push_back(std::move(table));
  }
  void remove() { current_.store(nullptr, std::memory_order_release); }
  /// Returns null if there are none.
  [[nodiscard]] const ProgramCommandTable* current() const {
    return current_.load(std::memory_order_acquire);
  }

 private:
  std::atomic<const ProgramCommandTable*> current_{nullptr};
  std::mutex mutex_;  // guards the next member
  std::vector<std::shared_ptr<const ProgramCommandTable>> all_;
};

}  // namespace rushgate
