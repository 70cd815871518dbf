#include "engine/redis/executor/store_guard.h"

#include <new>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "engine/core/base/concat.h"

namespace rushgate {

StoreGuard::StoreGuard(std::unique_ptr<Store> store, const Clock& clock, bool is_manual)
    : clock_(clock),
      is_manual_(is_manual),
      durability_(store->durability()),
      can_recover_(store->can_reopen()),
      store_(std::move(store)),
      background_sync_([this] { static_cast<void>(sync()); },  // a failure is kept: health()
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

/// Uses the store on this thread. It is not closed or reopened meanwhile.
absl::Status StoreGuard::use(absl::FunctionRef<absl::Status(Store& store)> call) {
  std::shared_ptr<Store> store;
  {
    const std::lock_guard lock(mutex_);
    if (!failure_.ok()) return failure_;
    if (store_ == nullptr) return absl::UnavailableError("the engine is closed");
    store = store_;
    ++uses_;
  }
  const absl::Cleanup end = [this] {
    const std::lock_guard lock(mutex_);
    --uses_;
    use_ended_.notify_all();
  };
  return call(*store);
}

absl::Status StoreGuard::sync() {
  return use([this](Store& store) {
    absl::Status synced = store.sync();
    if (!synced.ok()) {
      fail(synced);
    } else if (durability_ != Durability::kMemory) {
      ++counts_.syncs;
    }
    return synced;
  });
}

absl::Status StoreGuard::copy_to(const std::filesystem::path& dir,
                                 const std::filesystem::path& previous, AfterPortion after) {
  return use([&](Store& store) {
    return store.copy_to(dir, previous, [&](const CopyPortion& portion) {
      absl::Status status = after(portion);
      return status.ok() ? health() : status;  // reopen() waits for the end of the copy
    });
  });
}

absl::Status StoreGuard::health() const {
  const std::lock_guard lock(mutex_);
  if (!is_recovering()) return failure_;
  try {
    return absl::UnavailableError(failure_.message());
  } catch (const std::bad_alloc&) {
    return failure_;
  }
}

void StoreGuard::fail(const absl::Status& reason) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = reason;
    has_failed_ = true;
  }
  if (on_failure_) on_failure_();
}

absl::Status StoreGuard::reopen(Store::Exclusively run_in_turn) {
  // After the failure no use begins. The running ones must end before the store may change.
  return store_->reopen([&](absl::FunctionRef<void()> run) {
    {
      std::unique_lock lock(mutex_);
      use_ended_.wait(lock, [this] { return uses_ == 0; });
    }
    run_in_turn(run);
  });
}

void StoreGuard::recover() {
  const std::lock_guard lock(mutex_);
  failure_ = absl::OkStatus();
  has_failed_ = false;
}

void StoreGuard::give_up(const absl::Status& reason) {
  const std::lock_guard lock(mutex_);
  is_given_up_ = true;
  failure_ = absl::Status(absl::IsUnavailable(failure_) ? reason.code() : failure_.code(),
                          concat(failure_.message(), "; the store cannot be reopened (",
                                 reason.message(), "): open it again"));
}

void StoreGuard::note_commit(bool had_fsync) {
  // Only this thread counts commits, so nothing is lost between the two steps.
  counts_.commits.store(counts_.commits.load(std::memory_order_relaxed) + 1,
                        std::memory_order_relaxed);
  if (had_fsync) ++counts_.syncs;
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
