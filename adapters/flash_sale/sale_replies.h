// The results of a sale as replies of the Redis protocol.
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include <rushgate/reply.h>
#include <rushgate/sale.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// Returns [order, state], or an error with a code per outcome. `now_ms` is the sale's time.
Reply reply_of(const BuyResult& result, std::int64_t now_ms);
/// Returns the order's state, or an error with a code per outcome.
Reply reply_of(const ChangeResult& result, OrderId order);
/// Returns the error for a status that is not OK.
Reply error_reply(const absl::Status& status);
/// Returns objects as maps. Booleans are integers, 0 or 1.
Reply reply_of(const nlohmann::ordered_json& json);

}  // namespace rushgate
