// Exports the stored orders, their payments or their changes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include <rushgate/order_store.h>

namespace rushgate {

/// One of the tables that can be exported.
struct ExportTable {
  using Visit = std::function<void(const nlohmann::ordered_json& record)>;

  std::string name;
  std::string route;  // of a service, below /v1; its reply has the list under this name
  std::vector<std::string> fields;  // of each record
  /// Visits the records, of one voucher or of all, in bounded portions. `orders` keeps payments.
  absl::Status (*read)(OrderStore& orders, std::optional<VoucherId> voucher, const Visit& visit);
};

/// Returns the tables: "orders", "payments" and "history".
const std::vector<ExportTable>& export_tables();

}  // namespace rushgate
