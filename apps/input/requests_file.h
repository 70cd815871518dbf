// The requests of a replay: CSV with the columns at_ms,user_id,voucher_id, and perhaps event, key,
// amount_cents, quantity, payment and reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <rushgate/voucher.h>

namespace rushgate {

enum class RowEvent : std::uint8_t { kBuy, kPay, kCancel };
/// Returns "buy", "pay" or "cancel".
std::string_view row_event_name(RowEvent event);

inline constexpr std::size_t kNoRow = std::numeric_limits<std::size_t>::max();

struct RequestRow {
  std::int64_t at_ms = 0;  // after the start
  UserId user = {};
  VoucherId voucher = 0;
  std::size_t line = 0;  // line number in the file, from 1; it identifies the row
  RowEvent event = RowEvent::kBuy;
  /// The row needs the results of earlier rows: it pays or cancels, or comes after such a row of
  /// its user and voucher.
  bool follows = false;
  /// The row pays for or cancels the purchase of `purchase` alone. Otherwise that of the newest
  /// accepted row among `purchase`, its own `purchase`, and so on.
  bool is_by_key = false;
  std::int64_t amount_cents = 0;  // that it pays; 0: the amount that is owed
  /// The index of the row with its key, or of the last buy row before it of its user and voucher.
  std::size_t purchase = kNoRow;
  std::int64_t quantity = 1;   // that a buy row buys; 1 in other rows
  std::string payment = {};    // the id of the payment that it pays; empty: the row's own
  std::string reference = {};  // of the order that it buys

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

/// Parses the file. Skips empty lines and a first record of column names.
ParsedRequests parse_requests(std::string_view text);

}  // namespace rushgate
