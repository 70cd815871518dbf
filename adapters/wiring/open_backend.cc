#include <utility>

#include "engine/core/base/status_macros.h"
#include <rushgate/engine.h>
#include <rushgate/memory_store.h>
#include <rushgate/open_backend.h>
#include <rushgate/redis_backend.h>
#include <rushgate/rocksdb_store.h>

namespace rushgate {

absl::StatusOr<std::unique_ptr<Backend>> open_backend(std::string_view url,
                                                      const OpenBackendOptions& options) {
  ASSIGN_OR_RETURN(const auto parsed, BackendUrl::parse(url));
  return open_backend(parsed, options);
}

absl::StatusOr<std::unique_ptr<Backend>> open_backend(const BackendUrl& url,
                                                      const OpenBackendOptions& options) {
  if (url.kind == BackendUrl::Kind::kRedis) {
    RedisOptions redis = url.redis;
    redis.client_name = options.client_name;
    redis.connections_max = options.connections_max;
    ASSIGN_OR_RETURN(auto backend, RedisBackend::open(redis));
    return backend;
  }
  ASSIGN_OR_RETURN(auto store, open_store(url, options));
  EngineOptions engine_options = options.engine;
  engine_options.logger = options.logger;
  ASSIGN_OR_RETURN(auto engine, Engine::open(std::move(store), engine_options));
  return engine;
}

absl::StatusOr<std::unique_ptr<Store>> open_store(const BackendUrl& url,
                                                  const OpenBackendOptions& options) {
  switch (url.kind) {
    case BackendUrl::Kind::kMemory:
      return std::make_unique<MemoryStore>();
    case BackendUrl::Kind::kDirectory: {
      auto store = RocksDbStore::open(url.dir, {.durability = url.durability,
                                                .create_if_missing = options.create_if_missing,
                                                .logger = options.logger});
      if (!store.ok()) return store.status();
      return *std::move(store);
    }
    case BackendUrl::Kind::kRedis:
      break;
  }
  return absl::InvalidArgumentError("an engine's keyspace is memory: or a directory, not " +
                                    url.redis.address());
}

}  // namespace rushgate
