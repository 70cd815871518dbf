// The place of a keyspace, as a URL.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "absl/status/statusor.h"
#include "adapters/redis/redis_options.h"
#include "engine/store/store.h"

namespace rushgate {

/// A value type.
struct BackendUrl {
  enum class Kind : std::uint8_t {
    kMemory,     // the engine, and nothing survives the process
    kDirectory,  // the engine, on disk
    kRedis,      // a Redis server
  };

  Kind kind = Kind::kMemory;
  std::filesystem::path dir = {};           // of kDirectory
  Durability durability = Durability::kOs;  // of kDirectory: kOs, kEverySec or kSync
  RedisOptions redis = {};                  // of kRedis

  /// Reads one of these; RedisOptions::from_url() says more of the last three.
  ///     memory:
  ///     path[?durability=os|everysec|sync]   "%XX" is decoded: "%3F" is a '?' in the path
  ///     redis://…, rediss://…, unix:…
  /// A path whose first component has a ':' is written as "./a:b". kInvalidArgument: says which
  /// part is wrong, and never shows a password.
  static absl::StatusOr<BackendUrl> parse(std::string_view url);
};

/// Returns "memory", "directory" or "redis".
std::string_view backend_kind_name(BackendUrl::Kind kind);

}  // namespace rushgate
