// Reads a hash in bounded portions.
#pragma once

#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include <rushgate/client.h>

namespace rushgate {

/// Visits the fields of the hash `key` with their values, in no order, about `per_scan` of them in one
/// request. A field that is there during the whole call is visited at least once. Errors: to_status()
/// of a reply that is no page, for the operation `doing`.
absl::Status for_each_field(
    Client& client, std::string_view key, int per_scan, std::string_view doing,
    absl::FunctionRef<void(std::string_view field, std::string_view value)> visit);

}  // namespace rushgate
