// The values of a sale as JSON objects, for the HTTP server and the rushgate command.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <rushgate/order_store.h>
#include <rushgate/payment_store.h>
#include <rushgate/sale.h>
#include <rushgate/voucher.h>

namespace rushgate {

// Ids of orders are strings: many programs read numbers as doubles, which cannot hold them. Each
// object has all fields; one without a value is null. docs/programs.md describes them.

/// Returns the number; a string beyond 2^53, where doubles end to be exact.
nlohmann::ordered_json number_json(std::int64_t number);
/// Returns the number of a user, or the name as a string.
nlohmann::ordered_json user_json(const UserId& user);
/// Returns the time as a string; null for 0, which means that there is none.
nlohmann::ordered_json time_json(std::int64_t ms);

/// Returns the name of an order's state: its status if it is stored, otherwise "unknown", "queued" or,
/// for a dead letter, "failed".
std::string_view state_name(const OrderState& state);
nlohmann::ordered_json to_json(const Order& order);
nlohmann::ordered_json to_json(const Payment& payment);
nlohmann::ordered_json to_json(const OrderChange& change);
nlohmann::ordered_json to_json(const DeadLetter& letter);
nlohmann::ordered_json to_json(const DiscardedLetter& discarded);
nlohmann::ordered_json to_json(const AuditReport& report);
nlohmann::ordered_json to_json(const AuditProgress& progress);
/// Returns the voucher as an object of vouchers.json.
nlohmann::ordered_json to_json(const Voucher& voucher);

/// Returns the same with the version, the free stock and the number admitted. Counts that are unknown
/// are null.
nlohmann::ordered_json to_json(const VoucherSummary& summary);

/// Reads an object of vouchers.json. Sets `fault`, which begins with `path`, if it is invalid.
Voucher read_voucher(const nlohmann::ordered_json& object, const std::string& path,
                     std::string& fault);

}  // namespace rushgate
