// An audit's verdict as a table and as JSON.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "adapters/flash_sale/sale_json.h"
#include "engine/sale/audit/audit.h"

namespace rushgate {

/// Reads to_json() of this version or of an older one.
AuditReport audit_from_json(const nlohmann::ordered_json& json);

/// Returns a line for each voucher and one for the money, then the verdict and the problems.
std::string format_audit(const AuditReport& report);

}  // namespace rushgate
