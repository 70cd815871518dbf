// Orders, payments and changes of orders as JSON objects. `export` writes the same fields as CSV.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include <rushgate/order_store.h>
#include <rushgate/payment_store.h>

namespace rushgate {

// Ids of orders are strings: many programs read numbers as doubles, which cannot hold them. Each
// object has all fields; one without a value is null. docs/programs.md describes them.

nlohmann::ordered_json to_json(const Order& order);
nlohmann::ordered_json to_json(const Payment& payment);
nlohmann::ordered_json to_json(const OrderChange& change);

/// Returns the JSON on several lines. References and reasons may hold any bytes: invalid UTF-8 is
/// replaced.
std::string dump(const nlohmann::ordered_json& json);

}  // namespace rushgate
