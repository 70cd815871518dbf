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
  static const Script script(lua::kSemaphoreAcquire);
  return script;
}

const Script& acquire_count_script() {
  static const Script script(lua::kPlainSemaphoreAcquire);
  return script;
}

const Script& release_count_script() {
  static const Script script(lua::kPlainSemaphoreRelease);
  return script;
}

const Script& drain_script() {
  static const Script script(lua::kSemaphoreDrain);
  return script;
}

const Script& release_permits_script() {
  static const Script script(lua::kSemaphoreRelease);
  return script;
}

const Script& set_permits_script() {
  static const Script script(lua::kSemaphoreSet);
  return script;
}

const Script& free_permits_script() {
  static const Script script(lua::kSemaphoreFree);
  return script;
}

}  // namespace rushgate
