// The keys of this process's engine that MIGRATE moves.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <rushgate/engine.h>

namespace rushgate {

struct MigratedKey {
  std::string_view key;
  Reply payload;     // of DUMP
  Reply expires_ms;  // of PEXPIRETIME
};

/// Reads keys of one database in one step, and later deletes them in one step. Not thread-safe.
class MigrationSource {
 public:
  MigrationSource(Engine& engine, int database);

  /// Adds those of `keys` that exist. Returns the error if they cannot be read.
  std::optional<Reply> read(std::span<const std::string_view> keys,
                            std::vector<MigratedKey>& found);

  /// Deletes the keys that still have the values that were read. Returns an error if there are others.
  std::optional<Reply> remove(std::vector<MigratedKey> keys);

  [[nodiscard]] std::int64_t now_ms() const { return engine_.clock().now_ms(); }

 private:
  std::optional<Reply> watch_unchanged(std::vector<MigratedKey>& keys,
                                       std::vector<std::string_view>& changed);
  Reply remove_watched(std::span<const MigratedKey> keys);
  [[nodiscard]] bool has_expired(const MigratedKey& one) const;

  Engine& engine_;
  const std::unique_ptr<Client> client_;
};

}  // namespace rushgate
