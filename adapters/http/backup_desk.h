// Backups that operators ask for.
#pragma once

#include <filesystem>
#include <mutex>

#include "adapters/flash_sale/work_pool.h"
#include "adapters/http/problem.h"
#include <rushgate/flash_sale.h>

namespace rushgate::http {

/// Makes backups of the sale, one at a time, on a thread of its own. Thread-safe.
class BackupDesk {
 public:
  /// Without `dir`, can_begin() is false.
  BackupDesk(FlashSale& sale, std::filesystem::path dir) : sale_(sale), dir_(std::move(dir)) {}

  [[nodiscard]] bool can_begin() const { return !dir_.empty(); }
  /// Begins a backup, unless one is being made.
  void begin();
  /// Returns the state of the last one; null if there was none.
  Json state();

 private:
  void run();

  FlashSale& sale_;
  const std::filesystem::path dir_;
  std::mutex mutex_;  // guards the next two members
  bool is_running_ = false;
  Json state_;
  WorkPool thread_{1, 1};  // ends first
};

}  // namespace rushgate::http
