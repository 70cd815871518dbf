// The requests of a replay: CSV with the columns at_ms,user_id,voucher_id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/sale/vouchers/voucher.h"

namespace rushgate {

struct RequestRow {
  std::int64_t at_ms = 0;  // after the start
  UserId user = 0;
  VoucherId voucher = 0;
  std::size_t line = 0;  // where it stands in the file, from 1: its identity there

  friend bool operator==(const RequestRow&, const RequestRow&) = default;
};

struct BadLine {
  std::size_t line = 0;
  std::string reason;
};

struct ParsedRequests {
  std::vector<RequestRow> rows;  // in order of at_ms; those of the same moment as in the file
  std::vector<BadLine> bad;      // the first of them, not all …
  std::size_t bad_count = 0;     // … of this many
};

/// A first line of names is passed over, and so are empty lines.
ParsedRequests parse_requests(std::string_view text);

}  // namespace rushgate
