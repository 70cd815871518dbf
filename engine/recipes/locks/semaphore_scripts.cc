#include "engine/recipes/locks/semaphore_scripts.h"

#include "engine/recipes/locks/plain_semaphore_acquire.lua.h"
#include "engine/recipes/locks/plain_semaphore_release.lua.h"
#include "engine/recipes/locks/semaphore_acquire.lua.h"
#include "engine/recipes/locks/semaphore_drain.lua.h"
#include "engine/recipes/locks/semaphore_free.lua.h"
#include "engine/recipes/locks/semaphore_release.lua.h"
#include "engine/recipes/locks/semaphore_set.lua.h"

namespace rushgate {

const Script& acquire_permits_script() {
  static const Script kScript(lua::kSemaphoreAcquire);
  return kScript;
}

const Script& acquire_count_script() {
  static const Script kScript(lua::kPlainSemaphoreAcquire);
  return kScript;
}

const Script& release_count_script() {
  static const Script kScript(lua::kPlainSemaphoreRelease);
  return kScript;
}

const Script& drain_script() {
  static const Script kScript(lua::kSemaphoreDrain);
  return kScript;
}

const Script& release_permits_script() {
  static const Script kScript(lua::kSemaphoreRelease);
  return kScript;
}

const Script& set_permits_script() {
  static const Script kScript(lua::kSemaphoreSet);
  return kScript;
}

const Script& free_permits_script() {
  static const Script kScript(lua::kSemaphoreFree);
  return kScript;
}

}  // namespace rushgate
