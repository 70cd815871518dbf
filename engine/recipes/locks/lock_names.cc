#include "engine/recipes/locks/lock_names.h"

namespace rushgate {

std::string braced_name(std::string_view name) {
  std::string braced(name);
  return name.find('{') == std::string_view::npos ? '{' + braced + '}' : braced;
}

std::string tagged_name(std::string_view prefix, std::string_view name) {
  return std::string(prefix) + ':' + braced_name(name);
}

std::vector<std::string> keys_of(LockKind kind, const std::string& name) {
  std::vector<std::string> keys = {name};
  if (kind == LockKind::kFenced) keys.push_back(tagged_name("redisson_lock_token", name));
  if (kind == LockKind::kFair) {
    keys.push_back(tagged_name("redisson_lock_queue", name));
    keys.push_back(tagged_name("redisson_lock_timeout", name));
  }
  if (kind == LockKind::kRead || kind == LockKind::kWrite) keys.push_back(braced_name(name));
  if (kind == LockKind::kSemaphore) keys.push_back(braced_name(name) + ":timeout");
  keys.push_back(channel_of(kind, name));
  return keys;
}

std::string_view mode_of(LockKind kind) {
  if (kind == LockKind::kRead) return "read";
  return kind == LockKind::kWrite ? "write" : "";
}

std::string field_of(LockKind kind, const std::string& owner) {
  return kind == LockKind::kWrite ? owner + ":write" : owner;
}

std::string channel_of(LockKind kind, const std::string& name) {
  switch (kind) {
    case LockKind::kRead:
    case LockKind::kWrite:
      return tagged_name("redisson_rwlock", name);
    case LockKind::kSemaphore:
    case LockKind::kPlainSemaphore:
      return tagged_name("redisson_sc", name);
    case LockKind::kLatch:
      return "redisson_countdownlatch__channel__{" + name + '}';
    case LockKind::kPlain:
    case LockKind::kFenced:
    case LockKind::kFair:
      break;
  }
  return tagged_name("redisson_lock__channel", name);
}

}  // namespace rushgate
