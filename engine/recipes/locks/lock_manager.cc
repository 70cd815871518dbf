#include <utility>

#include "engine/recipes/locks/client_identity.h"
#include "engine/recipes/locks/lock_core.h"
#include <rushgate/locks.h>

namespace rushgate {
namespace {

LockManagerOptions with_identity(LockManagerOptions options) {
  if (options.client_id.empty()) options.client_id = random_uuid();
  return options;
}

}  // namespace

LockManager::LockManager(Backend& backend, LockManagerOptions options)
    : core_(std::make_shared<LockCore>(backend, with_identity(std::move(options)))) {}

LockManager::~LockManager() { core_->close(); }

const std::string& LockManager::client_id() const { return core_->options().client_id; }

std::uint64_t LockManager::caller() const { return core_->caller(); }

}  // namespace rushgate
