// Backups that operators ask for.
#pragma once

#include <filesystem>
#include <mutex>
#include <stop_token>

#include "adapters/flash_sale/work_pool.h"
#include "adapters/http/problem.h"
#include <rushgate/flash_sale.h>

namespace rushgate::http {

/// Makes backups of the sale, one at a time, on a thread of its own. Thread-safe.
class BackupDesk {
 public:
  /// Without `dir`, can_begin() is false.
  BackupDesk(FlashSale& sale, const std::filesystem::path& dir);
  /// Stops the backup that is being made.
  ~BackupDesk() { stop_.request_stop(); }
  BackupDesk(const BackupDesk&) = delete;
  BackupDesk& operator=(const BackupDesk&) = delete;

  [[nodiscard]] bool can_begin() const { return !dir_.empty(); }
  [[nodiscard]] const std::filesystem::path& directory() const { return dir_; }
  /// Begins a backup, unless one is being made. `options.stop` is replaced.
  void begin(const BackupOptions& options);
  /// Returns the state of the last one; null if there was none.
  Json state();

 private:
  void run(const BackupOptions& options);

  FlashSale& sale_;
  const std::filesystem::path dir_;  // absolute
  std::mutex mutex_;                 // guards the next two members
  bool is_running_ = false;
  Json state_;
  std::stop_source stop_;
  WorkPool thread_{1, 1};  // ends first
};

}  // namespace rushgate::http
