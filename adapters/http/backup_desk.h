// Backups that operators ask for.
#pragma once

#include <cstddef>
#include <filesystem>
#include <mutex>

#include "adapters/flash_sale/work_pool.h"
#include "adapters/http/problem.h"
#include <rushgate/flash_sale.h>

namespace rushgate::http {

/// Makes backups of the sale, one at a time, on a thread of its own. Thread-safe.
class BackupDesk {
 public:
  static constexpr std::size_t kKept = 3;  // backups, where a request does not say how many

  /// Without `dir`, can_begin() is false.
  BackupDesk(FlashSale& sale, const std::filesystem::path& dir);

  [[nodiscard]] bool can_begin() const { return !dir_.empty(); }
  [[nodiscard]] const std::filesystem::path& directory() const { return dir_; }
  /// Begins a backup, unless one is being made. `keep` is that of FlashSale::backup().
  void begin(std::size_t keep);
  /// Returns the state of the last one; null if there was none.
  Json state();

 private:
  void run(std::size_t keep);

  FlashSale& sale_;
  const std::filesystem::path dir_;  // absolute
  std::mutex mutex_;                 // guards the next two members
  bool is_running_ = false;
  Json state_;
  WorkPool thread_{1, 1};  // ends first
};

}  // namespace rushgate::http
