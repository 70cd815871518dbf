#include "engine/redis/script/script_cache.h"

#include <array>
#include <utility>

#include "absl/strings/ascii.h"

namespace rushgate {

ScriptCache::BySha1::const_iterator ScriptCache::look_up(std::string_view sha1) const {
  std::array<char, 40> lower;
  if (sha1.size() != lower.size()) return by_sha1_.end();
  for (std::size_t i = 0; i < lower.size(); ++i) {
    lower[i] = absl::ascii_tolower(static_cast<unsigned char>(sha1[i]));
  }
  return by_sha1_.find(std::string_view(lower.data(), lower.size()));
}

const LuaScript* ScriptCache::find(std::string_view sha1) {
  // Mostly it is the one that was used last.
  if (!scripts_.empty() && scripts_.front().sha1 == sha1) return &scripts_.front();
  const auto found = look_up(sha1);
  if (found == by_sha1_.end()) return nullptr;
  const Scripts::iterator script = found->second;
  if (script != scripts_.begin()) scripts_.splice(scripts_.begin(), scripts_, script);
  return &*script;
}

bool ScriptCache::contains(std::string_view sha1) const { return look_up(sha1) != by_sha1_.end(); }

const LuaScript& ScriptCache::insert(LuaScript script) {
  scripts_.push_front(std::move(script));
  by_sha1_.emplace(scripts_.front().sha1, scripts_.begin());
  return scripts_.front();
}

LuaScript ScriptCache::take_oldest() {
  by_sha1_.erase(scripts_.back().sha1);
  LuaScript oldest = std::move(scripts_.back());
  scripts_.pop_back();
  return oldest;
}

}  // namespace rushgate
