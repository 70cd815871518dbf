// Links the rows of a file that pay or cancel to the rows that buy.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "apps/input/requests_file.h"

namespace rushgate {

using RowKeys = absl::flat_hash_map<std::size_t, std::string_view>;  // line -> its key

/// Links the rows, which are ordered by time. Removes rows without a purchase to link to, and calls
/// `refuse` with each of them and the reason.
void link_rows(std::vector<RequestRow>& rows, const RowKeys& keys,
               const std::function<void(const RequestRow& row, std::string reason)>& refuse);

}  // namespace rushgate
