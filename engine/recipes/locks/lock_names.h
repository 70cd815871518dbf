// How Redisson names what belongs to a lock.
#pragma once

#include <string>
#include <string_view>

namespace rushgate {

/// Returns <prefix>:{<name>}, or <prefix>:<name> if the name has a hash tag of its own: in the slot
/// of the lock on a Redis Cluster.
inline std::string tagged_name(std::string_view prefix, std::string_view name) {
  std::string tagged(prefix);
  tagged += ':';
  if (name.find('{') != std::string_view::npos) return tagged.append(name);
  tagged += '{';
  tagged += name;
  return tagged += '}';
}

}  // namespace rushgate
