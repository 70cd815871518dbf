#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "engine/core/base/percent_encoding.h"
#include "engine/core/base/status_macros.h"
#include <rushgate/open_backend.h>
#include <rushgate/store.h>

namespace rushgate {
namespace {

absl::Status bad_url(const std::string& what) {
  return absl::InvalidArgumentError("URL of a keyspace: " + what);
}

std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

/// Returns the part before the first ':' if no '/' precedes it. Otherwise returns nothing.
std::optional<std::string_view> scheme_of(std::string_view url) {
  const std::size_t end = url.find_first_of(":/?");
  if (end == std::string_view::npos || url[end] != ':') return std::nullopt;
  return url.substr(0, end);
}

absl::Status parse_option(std::string_view option, BackendUrl& url) {
  const std::size_t equals = std::min(option.find('='), option.size());
  const std::string_view name = option.substr(0, equals);
  if (name != "durability") return bad_url("a directory has no option " + quoted(name));
  const std::string_view value = option.substr(std::min(equals + 1, option.size()));
  const auto durability = parse_durability(value);
  if (!durability || *durability == Durability::kMemory) {
    return bad_url("durability " + quoted(value) + " is none of os, everysec, sync");
  }
  url.durability = *durability;
  return absl::OkStatus();
}

absl::StatusOr<BackendUrl> parse_directory(std::string_view text) {
  BackendUrl url{.kind = BackendUrl::Kind::kDirectory};
  const std::size_t query = text.find('?');
  const auto path = percent_decoded(text.substr(0, query));
  if (!path) return bad_url("'%' in the path is not followed by two hexadecimal digits");
  if (path->empty()) return bad_url("it is empty");
  url.dir = *path;
  std::string_view options = query == std::string_view::npos ? "" : text.substr(query + 1);
  while (!options.empty()) {
    const std::string_view option = options.substr(0, options.find('&'));
    RETURN_IF_ERROR(parse_option(option, url));
    options.remove_prefix(std::min(option.size() + 1, options.size()));
  }
  return url;
}

}  // namespace

std::string_view backend_kind_name(BackendUrl::Kind kind) {
  switch (kind) {
    case BackendUrl::Kind::kMemory:
      return "memory";
    case BackendUrl::Kind::kDirectory:
      return "directory";
    case BackendUrl::Kind::kRedis:
      return "redis";
  }
  return "?";
}

absl::StatusOr<BackendUrl> BackendUrl::parse(std::string_view url) {
  const auto scheme = scheme_of(url);
  if (!scheme) return parse_directory(url);
  if (*scheme == "memory") {
    if (url == "memory:") return BackendUrl{};
    return bad_url(quoted(url.substr(std::string_view("memory:").size())) +
                   " after memory:, which has no options");
  }
  constexpr std::array<std::string_view, 7> kRedisSchemes = {
      "redis",          "rediss", "redis-sentinel", "rediss-sentinel", "redis-cluster",
      "rediss-cluster", "unix"};
  if (std::ranges::find(kRedisSchemes, *scheme) == kRedisSchemes.end()) {
    return bad_url(quoted(*scheme) +
                   " is no scheme: memory:, redis://, rediss://, redis-sentinel://, "
                   "rediss-sentinel://, redis-cluster://, rediss-cluster://, unix: or the path of "
                   "a directory (./" +
                   std::string(*scheme) + ":…)");
  }
  ASSIGN_OR_RETURN(auto redis, RedisOptions::from_url(url));
  return BackendUrl{.kind = Kind::kRedis, .redis = std::move(redis)};
}

}  // namespace rushgate
