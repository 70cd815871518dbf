#include <utility>

#include <rushgate/engine.h>
#include <rushgate/memory_store.h>
#include <rushgate/open_backend.h>
#include <rushgate/redis_backend.h>
#include <rushgate/rocksdb_store.h>

namespace rushgate {

absl::StatusOr<std::unique_ptr<Backend>> open_backend(std::string_view url,
                                                      const OpenBackendOptions& options) {
  const auto parsed = BackendUrl::parse(url);
  if (!parsed.ok()) return parsed.status();
  return open_backend(*parsed, options);
}

absl::StatusOr<std::unique_ptr<Backend>> open_backend(const BackendUrl& url,
                                                      const OpenBackendOptions& options) {
  if (url.kind == BackendUrl::Kind::kRedis) {
    RedisOptions redis = url.redis;
    redis.client_name = options.client_name;
    redis.connections_max = options.connections_max;
    auto backend = RedisBackend::open(redis);
    if (!backend.ok()) return backend.status();
    return *std::move(backend);
  }
  auto store = open_store(url, options);
  if (!store.ok()) return store.status();
  EngineOptions engine_options = options.engine;
  engine_options.logger = options.logger;
  auto engine = Engine::open(*std::move(store), engine_options);
  if (!engine.ok()) return engine.status();
  return *std::move(engine);
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
