// Reading a stream of order entries from end to end.
#pragma once

#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include <rushgate/client.h>
#include <rushgate/dead_letter.h>
#include <rushgate/order_store.h>
#include <rushgate/stream_id.h>

namespace rushgate {

/// Visits every entry of a stream in (after, last], in ascending order and in bounded portions,
/// until `visit` returns false.
absl::Status for_each_entry(Client& client, std::string_view stream, StreamId after, StreamId last,
                            absl::FunctionRef<bool(const OrderEntry&)> visit,
                            BetweenPortions between_portions = do_nothing);

}  // namespace rushgate
