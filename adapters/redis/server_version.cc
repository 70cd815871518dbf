#include "adapters/redis/server_version.h"

#include <cstdint>
#include <string_view>

#include "adapters/redis/text.h"
#include "engine/base/numbers.h"

namespace rushgate {

std::string refused_version(const Reply& info) {
  constexpr std::string_view kField = "redis_version:";
  constexpr std::int64_t kMajorMin = 6;
  constexpr std::int64_t kMinorMin = 2;
  const std::string_view text = info.text();
  const std::size_t begin = text.find(kField);
  if (info.is_error() || begin == std::string_view::npos) return {};
  std::string_view version = text.substr(begin + kField.size());
  version = version.substr(0, version.find_first_of("\r\n"));
  const std::size_t dot = version.find('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view rest = version.substr(dot + 1);
  const auto major = parse_int64(version.substr(0, dot));
  const auto minor = parse_int64(rest.substr(0, rest.find('.')));
  if (!major || !minor) return {};
  const bool is_older = *major < kMajorMin || (*major == kMajorMin && *minor < kMinorMin);
  return is_older ? concat("it is Redis ", version, ", and Rushgate needs 6.2 or later") : "";
}

}  // namespace rushgate
