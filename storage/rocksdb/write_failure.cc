#include "storage/rocksdb/write_failure.h"

#include <string>

namespace rushgate {

absl::Status WriteFailure::fail(const absl::Status& reason) {
  {
    const std::lock_guard lock(mutex_);
    if (!occurred_) {
      reason_ = reason;
      occurred_ = true;
      if (logger_) logger_->error("{}; nothing more is written", reason.ToString());
      return reason;
    }
  }
  return refusal();
}

absl::Status WriteFailure::refusal() const {
  const std::lock_guard lock(mutex_);
  return absl::Status(reason_.code(),
                      "the store stopped writing: " + std::string(reason_.message()));
}

}  // namespace rushgate
