#include "engine/recipes/cache/cache_scripts.h"

#include "engine/recipes/cache/cache_abandon.lua.h"
#include "engine/recipes/cache/cache_fetch.lua.h"
#include "engine/recipes/cache/cache_fetch_with_expiry.lua.h"
#include "engine/recipes/cache/cache_hold_off.lua.h"
#include "engine/recipes/cache/cache_invalidate.lua.h"
#include "engine/recipes/cache/cache_store.lua.h"

namespace rushgate::cache_scripts {

const Script& fetch() {
  static const Script* const kScript = new Script(lua::kCacheFetch);
  return *kScript;
}

const Script& fetch_with_expiry() {
  static const Script* const kScript = new Script(lua::kCacheFetchWithExpiry);
  return *kScript;
}

const Script& store() {
  static const Script* const kScript = new Script(lua::kCacheStore);
  return *kScript;
}

const Script& abandon() {
  static const Script* const kScript = new Script(lua::kCacheAbandon);
  return *kScript;
}

const Script& hold_off() {
  static const Script* const kScript = new Script(lua::kCacheHoldOff);
  return *kScript;
}

const Script& invalidate() {
  static const Script* const kScript = new Script(lua::kCacheInvalidate);
  return *kScript;
}

}  // namespace rushgate::cache_scripts
