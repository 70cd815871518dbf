// An audit's verdict, for people and for programs.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "engine/sale/audit/audit.h"

namespace rushgate {

/// {"passed", "vouchers": [{"voucher", "published", …}], "problems": [text]}
nlohmann::ordered_json to_json(const AuditReport& report);
AuditReport audit_from_json(const nlohmann::ordered_json& json);

/// A line a voucher, then the verdict and what is wrong.
std::string format_audit(const AuditReport& report);

}  // namespace rushgate
