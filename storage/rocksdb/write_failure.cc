#include "storage/rocksdb/write_failure.h"

#include <new>
#include <string>

#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"

namespace rushgate {

absl::Status WriteFailure::fail(const absl::Status& reason) {
  {
    const std::lock_guard lock(mutex_);
    if (!occurred_) {
      reason_ = reason;
      occurred_ = true;
      log(reason);
      return reason;
    }
  }
  return refusal();
}

void WriteFailure::log(const absl::Status& reason) noexcept {
  if (logger_ == nullptr) return;
  try {
    log_error(*logger_,
              concat(reason.ToString(), "; nothing is written until the store is reopened"));
  } catch (const std::bad_alloc&) {  // the caller returns the reason, too
  }
}

absl::Status WriteFailure::refusal() const noexcept {
  const std::lock_guard lock(mutex_);
  try {
    return absl::Status(reason_.code(),
                        "the store stopped writing: " + std::string(reason_.message()));
  } catch (const std::bad_alloc&) {
    return reason_;
  }
}

}  // namespace rushgate
