#include "apps/served/migration_source.h"

#include <cstddef>
#include <utility>

#include "engine/core/base/concat.h"

namespace rushgate {
namespace {

constexpr std::size_t kShownKeyBytesMax = 128;

void add_reading(std::string_view key, std::vector<Request>& requests) {
  requests.push_back(Request::of("DUMP", key));
  requests.push_back(Request::of("PEXPIRETIME", key));
}

}  // namespace

MigrationSource::MigrationSource(Engine& engine, int database)
    : engine_(engine), client_(engine.open_client()) {
  (*client_)("SELECT", database);
}

std::optional<Reply> MigrationSource::read(std::span<const std::string_view> keys,
                                           std::vector<MigratedKey>& found) {
  std::vector<Request> requests = {Request::of("MULTI")};
  for (const std::string_view key : keys) add_reading(key, requests);
  requests.push_back(Request::of("EXEC"));
  const Reply read = client_->pipeline(requests).back();
  if (read.is_error()) return read;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    MigratedKey one{keys[i], read.elements()[2 * i], read.elements()[2 * i + 1]};
    if (one.payload.is_error()) return one.payload;
    if (!one.payload.is_nil()) found.push_back(std::move(one));
  }
  return std::nullopt;
}

std::optional<Reply> MigrationSource::remove(std::vector<MigratedKey> keys) {
  constexpr int kAttempts = 10;
  const std::size_t count = keys.size();
  std::vector<std::string_view> changed;
  for (int i = 0; i < kAttempts && !keys.empty(); ++i) {
    if (auto error = watch_unchanged(keys, changed)) return error;
    const Reply deleted = remove_watched(keys);
    if (deleted.is_error()) return deleted;
    if (!deleted.is_nil()) keys.clear();
  }
  for (const MigratedKey& one : keys) changed.push_back(one.key);
  if (changed.empty()) return std::nullopt;
  return Reply::error(concat("ERR ", changed.size(), " of ", count,
                             " keys changed during the migration. The target has their former "
                             "values, and they were not deleted here. The first is '",
                             changed.front().substr(0, kShownKeyBytesMax), "'"));
}

/// Watches the keys, and moves those that have other values by now to `changed`.
std::optional<Reply> MigrationSource::watch_unchanged(std::vector<MigratedKey>& keys,
                                                      std::vector<std::string_view>& changed) {
  std::vector<Request> requests = {Request::of("WATCH")};
  for (const MigratedKey& one : keys) {
    requests.front().add(one.key);
    add_reading(one.key, requests);
  }
  const std::vector<Reply> replies = client_->pipeline(requests);
  if (replies.front().is_error()) return replies.front();
  std::vector<MigratedKey> unchanged;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Reply& payload = replies[2 * i + 1];
    if (payload == keys[i].payload && replies[2 * i + 2] == keys[i].expires_ms) {
      unchanged.push_back(std::move(keys[i]));
    } else if (!payload.is_nil() || !has_expired(keys[i])) {
      changed.push_back(keys[i].key);
    }
  }
  keys = std::move(unchanged);
  return std::nullopt;
}

/// Returns nil if one has changed since watch_unchanged().
Reply MigrationSource::remove_watched(std::span<const MigratedKey> keys) {
  if (keys.empty()) return Reply::integer(0);
  std::vector<Request> requests = {Request::of("MULTI"), Request::of("DEL"), Request::of("EXEC")};
  for (const MigratedKey& one : keys) requests[1].add(one.key);
  return client_->pipeline(requests).back();
}

bool MigrationSource::has_expired(const MigratedKey& one) const {
  return one.expires_ms.integer() >= 0 && one.expires_ms.integer() <= now_ms();
}

}  // namespace rushgate
