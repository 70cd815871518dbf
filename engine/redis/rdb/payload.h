// The end of a payload of DUMP: the version of its format, and a checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rushgate::rdb {

/// The size of version and checksum.
inline constexpr std::size_t kSealBytes = sizeof(std::uint16_t) + sizeof(std::uint64_t);

/// Completes a payload that consists of type and value.
void seal(std::string& payload);

enum class Checksum : bool { kIgnored, kChecked };

/// Returns type and value of a payload; empty if the checksum is wrong, or if a later version of
/// Redis wrote it.
std::optional<std::string_view> unseal(std::string_view payload,
                                       Checksum checksum = Checksum::kChecked);

}  // namespace rushgate::rdb
