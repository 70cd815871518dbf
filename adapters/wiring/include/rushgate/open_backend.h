// Opens a backend from a URL, so that you can develop on the embedded engine and run on a Redis.
// Start here to choose the backend by configuration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include <rushgate/backend.h>
#include <rushgate/engine.h>
#include <rushgate/redis_backend.h>
#include <rushgate/store.h>

namespace spdlog {
class logger;
}

namespace rushgate {

/// A value type.
struct BackendUrl {
  enum class Kind : std::uint8_t {
    kMemory,     // embedded; nothing survives the process
    kDirectory,  // embedded, on disk
    kRedis,      // a Redis server
  };

  Kind kind = Kind::kMemory;
  std::filesystem::path dir = {};           // for kDirectory
  Durability durability = Durability::kOs;  // for kDirectory: kOs, kEverySec or kSync
  RedisOptions redis = {};                  // for kRedis

  /// Reads one of these; RedisOptions::from_url() says more of the last line.
  ///     memory:
  ///     path[?durability=os|everysec|sync]   "%XX" is decoded: "%3F" is a '?' in the path
  ///     redis://…, redis-sentinel://…, redis-cluster://…, the same with rediss, unix:…
  /// Write a path whose first component has a ':' as "./a:b". kInvalidArgument: the message says
  /// which part is wrong, and never shows a password.
  static absl::StatusOr<BackendUrl> parse(std::string_view url);
};

/// Returns "memory", "directory" or "redis".
std::string_view backend_kind_name(BackendUrl::Kind kind);

struct OpenBackendOptions {
  bool create_if_missing = true;             // for a directory
  std::string client_name = {};              // for CLIENT LIST on a Redis; empty: none
  int connections_max = 16;                  // RedisOptions::connections_max
  EngineOptions engine = {};                 // of an embedded one; its logger is the next member
  std::shared_ptr<spdlog::logger> logger{};  // may be null
};

/// Opens an embedded engine or connects to a Redis. kInvalidArgument: the URL is invalid
/// (BackendUrl::parse()). Other errors are those of the store or RedisBackend::open().
absl::StatusOr<std::unique_ptr<Backend>> open_backend(std::string_view url,
                                                      const OpenBackendOptions& options = {});
absl::StatusOr<std::unique_ptr<Backend>> open_backend(const BackendUrl& url,
                                                      const OpenBackendOptions& options = {});

/// Opens a store, for a program that creates its own engine. kInvalidArgument: the URL is that of a
/// Redis.
absl::StatusOr<std::unique_ptr<Store>> open_store(const BackendUrl& url,
                                                  const OpenBackendOptions& options = {});

}  // namespace rushgate
