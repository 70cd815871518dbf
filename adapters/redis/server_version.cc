#include "adapters/redis/server_version.h"

#include <cstdint>
#include <string_view>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/client/info_value.h"

namespace rushgate {

std::optional<ServerVersion> server_version(const Reply& info) {
  if (info.is_error()) return std::nullopt;
  const std::string_view text = info.text();
  const std::string_view redis = info_value(text, "redis_version");
  if (redis.empty()) return std::nullopt;
  // Valkey has server_name and valkey_version since 8.0.
  const std::string_view name = info_value(text, "server_name");
  const std::string_view version = info_value(text, concat(name, "_version"));
  return ServerVersion{.name = std::string(name.empty() ? "Redis" : name),
                       .version = std::string(version.empty() ? redis : version),
                       .redis = std::string(redis)};
}

std::string refused_version(const Reply& info) {
  constexpr std::int64_t kMajorMin = 6;
  constexpr std::int64_t kMinorMin = 2;
  const std::optional<ServerVersion> server = server_version(info);
  if (!server) return {};
  const std::string_view version = server->redis;
  const std::size_t dot = version.find('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view rest = version.substr(dot + 1);
  const auto major = parse_int64(version.substr(0, dot));
  const auto minor = parse_int64(rest.substr(0, rest.find('.')));
  if (!major || !minor) return {};
  const bool is_older = *major < kMajorMin || (*major == kMajorMin && *minor < kMinorMin);
  if (!is_older) return {};
  return concat("it is ", server->name, " ", server->version,
                ", and Rushgate needs Redis 6.2 or later, or a compatible server");
}

}  // namespace rushgate
