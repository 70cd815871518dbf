// A validator for the part of JSON Schema 2020-12 that /openapi.json uses.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace rushgate::testing {

/// Returns why `value` does not fit `schema`, beginning with `path`; empty if it fits. `document` has
/// the targets of $ref. Throws for a keyword that it does not know, and for a $ref without a target.
std::string find_misfit(const nlohmann::ordered_json& value, const nlohmann::ordered_json& schema,
                        const nlohmann::ordered_json& document, const std::string& path = "$");

}  // namespace rushgate::testing
