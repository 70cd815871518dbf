#include "engine/recipes/locks/lock_scripts.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/str_replace.h"
#include "engine/recipes/locks/fair_acquire.lua.h"
#include "engine/recipes/locks/fair_force_release.lua.h"
#include "engine/recipes/locks/fair_leave_queue.lua.h"
#include "engine/recipes/locks/fair_release.lua.h"
#include "engine/recipes/locks/lock_acquire.lua.h"
#include "engine/recipes/locks/lock_force_release.lua.h"
#include "engine/recipes/locks/lock_names.h"
#include "engine/recipes/locks/lock_release.lua.h"
#include "engine/recipes/locks/lock_renew.lua.h"
#include "engine/recipes/locks/lock_state.lua.h"
#include "engine/recipes/locks/read_acquire.lua.h"
#include "engine/recipes/locks/read_release.lua.h"
#include "engine/recipes/locks/read_renew.lua.h"
#include "engine/recipes/locks/side_force_release.lua.h"
#include "engine/recipes/locks/write_acquire.lua.h"
#include "engine/recipes/locks/write_release.lua.h"
#include "engine/recipes/locks/write_renew.lua.h"

namespace rushgate {
namespace {

// ---- Common to all releases ----

// ---- ReentrantLock: KEYS the lock, its token if it is fenced, its channel ----

const Script& acquire_script() {
  static const Script kScript(lua::kLockAcquire);
  return kScript;
}

const Script& release_script() {
  static const Script kScript(lua::kLockRelease);
  return kScript;
}

const Script& renew_script() {
  static const Script kScript(lua::kLockRenew);
  return kScript;
}

// ---- FairLock: KEYS the lock, its queue, its timeouts, its channel ----

const Script& acquire_fair_script() {
  static const Script kScript(lua::kFairAcquire);
  return kScript;
}

const Script& release_fair_script() {
  static const Script kScript(lua::kFairRelease);
  return kScript;
}

// ---- ReadWriteLock: KEYS the lock, {<name>}, its channel ----

const Script& acquire_read_script() {
  static const Script kScript(lua::kReadAcquire);
  return kScript;
}

const Script& release_read_script() {
  static const Script kScript(lua::kReadRelease);
  return kScript;
}

const Script& renew_read_script() {
  static const Script kScript(lua::kReadRenew);
  return kScript;
}

const Script& acquire_write_script() {
  static const Script kScript(lua::kWriteAcquire);
  return kScript;
}

const Script& release_write_script() {
  static const Script kScript(lua::kWriteRelease);
  return kScript;
}

const Script& renew_write_script() {
  static const Script kScript(lua::kWriteRenew);
  return kScript;
}

}  // namespace

const Script& with_shard_channels(const Script& script) {
  static std::mutex mutex;
  static std::map<const Script*, Script> forms;  // guarded by mutex
  const std::lock_guard lock(mutex);
  const auto known = forms.find(&script);
  if (known != forms.end()) return known->second;
  std::string text = absl::StrReplaceAll(script.text(), {{"'PUBLISH'", "'SPUBLISH'"}});
  return forms.emplace(&script, Script(std::move(text))).first->second;
}

const LockScripts& scripts_of(LockKind kind) {
  static const LockScripts kPlain = {acquire_script(), release_script(), renew_script()};
  static const LockScripts kFair = {acquire_fair_script(), release_fair_script(), renew_script()};
  static const LockScripts kRead = {acquire_read_script(), release_read_script(),
                                    renew_read_script()};
  static const LockScripts kWrite = {acquire_write_script(), release_write_script(),
                                     renew_write_script()};
  switch (kind) {
    case LockKind::kFair:
      return kFair;
    case LockKind::kRead:
      return kRead;
    case LockKind::kWrite:
      return kWrite;
    default:
      return kPlain;
  }
}

const Script& lock_state_script() {
  static const Script kScript(lua::kLockState);
  return kScript;
}

const Script& force_release_script(LockKind kind) {
  static const Script kPlain(lua::kLockForceRelease);
  static const Script kFair(lua::kFairForceRelease);
  static const Script kSide(lua::kSideForceRelease);
  if (kind == LockKind::kFair) return kFair;
  return mode_of(kind).empty() ? kPlain : kSide;
}

const Script& leave_queue_script() {
  static const Script kScript(lua::kFairLeaveQueue);
  return kScript;
}

}  // namespace rushgate
