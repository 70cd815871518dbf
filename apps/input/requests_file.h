// The requests of a replay: CSV with the columns at_ms,user_id,voucher_id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <rushgate/voucher.h>

namespace rushgate {

struct RequestRow {
  std::int64_t at_ms = 0;  // after the start
  UserId user = 0;
  VoucherId voucher = 0;
  std::size_t line = 0;  // line number in the file, from 1; it identifies the row

  friend bool operator==(const RequestRow&, const RequestRow&) = default;
};

struct BadLine {
  std::size_t line = 0;
  std::string reason;
};

struct ParsedRequests {
  std::vector<RequestRow> rows;  // ordered by at_ms, equal times as in the file
  std::vector<BadLine> bad;      // the first bad lines …
  std::size_t bad_count = 0;     // … of this many
};

/// Parses the file. Skips empty lines and a first line of column names.
ParsedRequests parse_requests(std::string_view text);

}  // namespace rushgate
