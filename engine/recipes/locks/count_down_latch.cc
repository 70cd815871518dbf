#include <utility>

#include "engine/recipes/locks/latch_count_down.lua.h"
#include "engine/recipes/locks/latch_set_count.lua.h"
#include "engine/recipes/locks/lock_core.h"
#include <rushgate/locks.h>

namespace rushgate {
namespace {

const Script& set_count_script() {
  static const Script kScript(lua::kLatchSetCount);
  return kScript;
}

const Script& count_down_script() {
  static const Script kScript(lua::kLatchCountDown);
  return kScript;
}

}  // namespace

CountDownLatch::CountDownLatch(LockManager& manager, std::string name)
    : core_(manager.core_), name_(std::move(name)) {}

absl::StatusOr<bool> CountDownLatch::try_set_count(std::int64_t count) {
  if (count <= 0) return absl::InvalidArgumentError("the count of a latch must be positive");
  const auto is_set = core_->run_for_number({.name = name_, .kind = LockKind::kLatch},
                                            set_count_script(), "setting a latch", count);
  if (!is_set.ok()) return is_set.status();
  return *is_set == 1;
}

absl::Status CountDownLatch::count_down() {
  return core_
      ->run_for_number({.name = name_, .kind = LockKind::kLatch}, count_down_script(),
                       "counting down")
      .status();
}

absl::StatusOr<std::int64_t> CountDownLatch::count() { return core_->count(name_); }

absl::StatusOr<bool> CountDownLatch::wait(std::int64_t wait_ms) {
  return core_->acquire({.name = name_, .kind = LockKind::kLatch}, wait_ms);
}

void CountDownLatch::wait_async(std::int64_t wait_ms, Callback done) {
  core_->acquire_async({.name = name_, .kind = LockKind::kLatch}, wait_ms, std::move(done));
}

}  // namespace rushgate
