// The JSON that commands print. sale_json.h makes it.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "adapters/flash_sale/sale_json.h"

namespace rushgate {

/// Returns the JSON on several lines. References and reasons may hold any bytes: invalid UTF-8 is
/// replaced.
std::string dump(const nlohmann::ordered_json& json);

}  // namespace rushgate
