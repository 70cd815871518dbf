// The names of durabilities, in URLs, options and INFO.
#pragma once

#include <optional>
#include <string_view>

#include "engine/store/store.h"

namespace rushgate {

/// Returns "memory", "os", "everysec" or "sync".
std::string_view durability_name(Durability durability);
/// Returns the durability of this name, if there is one.
std::optional<Durability> parse_durability(std::string_view name);

}  // namespace rushgate
