#include "engine/executor/store_guard.h"

#include <utility>

namespace rushgate {

StoreGuard::StoreGuard(std::unique_ptr<Store> store, const Clock& clock, bool is_manual)
    : clock_(clock),
      is_manual_(is_manual),
      durability_(store->durability()),
      store_(std::move(store)),
      background_sync_([this] { return store_->sync(); },
                       [this](const absl::Status& reason) { fail(reason); }) {}

void StoreGuard::start() {
  if (durability_ == Durability::kEverySec && !is_manual_) background_sync_.start();
}

void StoreGuard::close() {
  background_sync_.stop();
  if (sync_due_ms_ != ServiceThread::kNever) sync_if_due(sync_due_ms_);
  const std::lock_guard lock(mutex_);
  store_.reset();
}

absl::Status StoreGuard::sync() {
  std::shared_ptr<Store> store;
  {
    const std::lock_guard lock(mutex_);
    if (!failure_.ok()) return failure_;
    store = store_;
  }
  if (store == nullptr) return absl::UnavailableError("the engine is closed");
  const absl::Status synced = store->sync();
  if (!synced.ok()) fail(synced);
  return synced;
}

absl::Status StoreGuard::health() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void StoreGuard::fail(const absl::Status& reason) {
  const std::lock_guard lock(mutex_);
  if (failure_.ok()) failure_ = reason;
  has_failed_ = true;
}

void StoreGuard::note_commit() {
  if (durability_ != Durability::kEverySec) return;
  if (!is_manual_) return background_sync_.note_write();
  if (sync_due_ms_ == ServiceThread::kNever) {
    sync_due_ms_ = clock_.monotonic_ms() + BackgroundSync::kEveryMs;
  }
}

void StoreGuard::sync_if_due(std::int64_t monotonic_ms) {
  if (sync_due_ms_ > monotonic_ms) return;
  sync_due_ms_ = ServiceThread::kNever;
  static_cast<void>(sync());  // a failure is kept: health()
}

}  // namespace rushgate
