#include "apps/input/requests_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/input/csv_reader.h"
#include "apps/input/row_links.h"
#include "engine/core/base/numbers.h"
#include <rushgate/order_store.h>
#include <rushgate/payment_store.h>

namespace rushgate {
namespace {

constexpr std::array<std::string_view, 3> kRequired = {"at_ms", "user_id", "voucher_id"};
enum RequiredColumn : std::size_t { kAtMs, kUserId, kVoucherId };
constexpr std::string_view kRequiredText = "at_ms,user_id,voucher_id";
enum OptionalColumn : std::size_t { kEvent, kKey, kAmount, kQuantity, kPayment, kReference };
constexpr std::array<std::string_view, 6> kOptional = {"event",    "key",     "amount_cents",
                                                       "quantity", "payment", "reference"};
constexpr std::size_t kBadLinesKept = 100;
constexpr std::size_t kExcerptMax = 40;

using Fields = std::vector<std::string_view>;

std::string excerpt(std::string_view field) {
  return fmt::format("\"{}\"", field.substr(0, kExcerptMax));
}

/// The columns of a file.
struct Columns {
  std::string names{kRequiredText};
  std::size_t count = kRequired.size();
  std::array<std::size_t, kOptional.size()> places = {};  // of optional columns; 0: it is missing
  /// Whether users may have names: so if the first one has. Otherwise a name is a mistake.
  std::optional<bool> with_names = {};

  /// Returns the field of an optional column; empty if the column is missing.
  [[nodiscard]] std::string_view find(const Fields& fields, OptionalColumn column) const {
    const std::size_t place = places.at(column);
    return place == 0 ? std::string_view() : fields[place];
  }
};

/// Returns true for a first line of names.
bool is_header(const Fields& fields) {
  return fields.size() >= kRequired.size() &&
         std::none_of(fields.begin(), fields.end(), [](std::string_view field) {
           return field.empty() || parse_int64(field).has_value();
         });
}

/// Reads the names of the columns. Returns the fault, if there is one.
std::optional<std::string> read_header(const Fields& fields, Columns& columns) {
  for (std::size_t i = 0; i < kRequired.size(); ++i) {
    if (fields[i] == kRequired[i]) continue;
    return fmt::format("the columns must be {}, not {} for {}", kRequiredText, excerpt(fields[i]),
                       kRequired[i]);
  }
  for (std::size_t i = kRequired.size(); i < fields.size(); ++i) {
    const auto name = std::ranges::find(kOptional, fields[i]);
    const auto column = static_cast<std::size_t>(name - kOptional.begin());
    if (column == kOptional.size() || columns.places.at(column) != 0) {
      return fmt::format("after {} there may be the columns {}, each once, not {}", kRequiredText,
                         fmt::join(kOptional, ", "), excerpt(fields[i]));
    }
    columns.places.at(column) = i;
    columns.names += fmt::format(",{}", fields[i]);
  }
  columns.count = fields.size();
  return std::nullopt;
}

/// Returns true for a number as a spreadsheet spoils it: 1.38E+10, 1001.0, '1001, ="1001".
bool is_damaged_number(std::string_view field) {
  constexpr std::string_view kMarks = "='\"";
  const std::size_t begin = std::min(field.find_first_not_of(kMarks), field.size());
  const std::size_t end = field.find_last_not_of(kMarks) + 1;
  if (begin >= end) return false;
  const std::string_view number = field.substr(begin, end - begin);
  return number.find_first_not_of("0123456789.+-eE") == number.npos &&
         parse_double(number).has_value() && !parse_int64(field).has_value();
}

/// Returns the fault in the user, if there is one.
std::optional<std::string> read_user(std::string_view field, Columns& columns, RequestRow& row) {
  row.user = UserId(field);
  const bool with_names = columns.with_names.value_or(!row.user.is_number());
  if (!row.user.is_number() && (!with_names || is_damaged_number(field))) {
    return fmt::format("user_id is not a whole number: {}", excerpt(field));
  }
  if (const std::string fault = row.user.find_fault(); !fault.empty()) {
    return fmt::format("user_id: {}: {}", fault, excerpt(field));
  }
  columns.with_names = with_names;
  return std::nullopt;
}

std::optional<std::string> read_number(RequiredColumn column, const Fields& fields,
                                       std::int64_t& to) {
  const auto value = parse_int64(fields[column]);
  if (!value) {
    return fmt::format("{} is not a whole number: {}", kRequired.at(column),
                       excerpt(fields[column]));
  }
  to = *value;
  return std::nullopt;
}

/// Returns the fault in the columns that every file has, if there is one.
std::optional<std::string> read_request(const Fields& fields, Columns& columns, RequestRow& row) {
  auto fault = read_number(kAtMs, fields, row.at_ms);
  if (!fault) fault = read_user(fields[kUserId], columns, row);
  if (!fault) fault = read_number(kVoucherId, fields, row.voucher);
  if (!fault && row.at_ms < 0) fault = fmt::format("at_ms must not be negative: {}", row.at_ms);
  return fault;
}

std::optional<std::string> read_event(std::string_view field, RequestRow& row) {
  for (const RowEvent event : {RowEvent::kBuy, RowEvent::kPay, RowEvent::kCancel}) {
    if (field != row_event_name(event)) continue;
    row.event = event;
    return std::nullopt;
  }
  if (field.empty()) return std::nullopt;
  return fmt::format("event must be buy, pay or cancel, not {}", excerpt(field));
}

/// Returns a fault if the column has a field in a row of another event.
std::optional<std::string> check_event_of(OptionalColumn column, std::string_view field,
                                          RowEvent event, const RequestRow& row) {
  if (field.empty() || row.event == event) return std::nullopt;
  return fmt::format("{} is for {} rows: {}", kOptional.at(column), row_event_name(event),
                     excerpt(field));
}

std::optional<std::string> read_positive(OptionalColumn column, std::string_view field,
                                         std::int64_t max, std::int64_t& to) {
  if (field.empty()) return std::nullopt;
  const auto value = parse_int64(field);
  if (!value || *value <= 0) {
    return fmt::format("{} is not a positive whole number: {}", kOptional.at(column),
                       excerpt(field));
  }
  if (*value > max) return fmt::format("{} is at most {}: {}", kOptional.at(column), max, *value);
  to = *value;
  return std::nullopt;
}

std::optional<std::string> read_name(OptionalColumn column, std::string_view field,
                                     std::size_t bytes_max, std::string& to) {
  if (field.size() > bytes_max) {
    return fmt::format("{} has at most {} bytes, not {}", kOptional.at(column), bytes_max,
                       field.size());
  }
  to = field;
  return std::nullopt;
}

/// Reads the columns that depend on the event. Returns the first fault, if there is one.
std::optional<std::string> read_optional(const Fields& fields, const Columns& columns,
                                         RequestRow& row) {
  const std::string_view amount = columns.find(fields, kAmount);
  const std::string_view quantity = columns.find(fields, kQuantity);
  const std::string_view payment = columns.find(fields, kPayment);
  const std::string_view reference = columns.find(fields, kReference);
  auto fault = read_event(columns.find(fields, kEvent), row);
  if (!fault) fault = check_event_of(kAmount, amount, RowEvent::kPay, row);
  if (!fault) fault = check_event_of(kQuantity, quantity, RowEvent::kBuy, row);
  if (!fault) fault = check_event_of(kPayment, payment, RowEvent::kPay, row);
  if (!fault) fault = check_event_of(kReference, reference, RowEvent::kBuy, row);
  if (!fault) fault = read_positive(kAmount, amount, Payment::kAmountCentsMax, row.amount_cents);
  if (!fault) fault = read_positive(kQuantity, quantity, Order::kQuantityMax, row.quantity);
  if (!fault) fault = read_name(kPayment, payment, Payment::kIdBytesMax, row.payment);
  if (!fault) fault = read_name(kReference, reference, Order::kReferenceBytesMax, row.reference);
  return fault;
}

/// Returns the fault in the values, if there is one.
std::optional<std::string> read_row(const Fields& fields, Columns& columns, RequestRow& row) {
  if (fields.size() != columns.count) {
    return fmt::format("{} {} where {} are expected ({})", fields.size(),
                       fields.size() == 1 ? "field" : "fields", columns.count, columns.names);
  }
  auto fault = read_request(fields, columns, row);
  return fault ? fault : read_optional(fields, columns, row);
}

/// Reads a file record by record.
class RequestsParser {
 public:
  void read(const CsvRecord& record) {
    const Fields& fields = record.fields;
    const std::size_t number = record.line;
    if (!record.fault.empty()) return refuse(number, record.fault);
    const bool is_first = std::exchange(is_first_, false);
    if (is_first && is_header(fields)) {
      if (auto fault = read_header(fields, columns_)) refuse(number, *std::move(fault));
      return;
    }
    RequestRow row{.line = number};
    if (auto fault = read_row(fields, columns_, row)) return refuse(number, *std::move(fault));
    const std::string_view key = columns_.find(fields, kKey);
    if (!key.empty()) keys_[number] = key;
    parsed_.rows.push_back(std::move(row));
  }

  ParsedRequests finish() {
    std::stable_sort(parsed_.rows.begin(), parsed_.rows.end(),
                     [](const RequestRow& a, const RequestRow& b) { return a.at_ms < b.at_ms; });
    if (columns_.places.at(kEvent) != 0) {
      link_rows(parsed_.rows, keys_, [this](const RequestRow& row, std::string reason) {
        refuse(row.line, std::move(reason));
      });
    }
    return std::move(parsed_);
  }

  void refuse(std::size_t line, std::string reason) {
    ++parsed_.bad_count;
    if (parsed_.bad.size() < kBadLinesKept) parsed_.bad.push_back({line, std::move(reason)});
  }

 private:
  Columns columns_;
  bool is_first_ = true;
  RowKeys keys_;
  ParsedRequests parsed_;
};

}  // namespace

std::string_view row_event_name(RowEvent event) {
  switch (event) {
    case RowEvent::kBuy:
      return "buy";
    case RowEvent::kPay:
      return "pay";
    case RowEvent::kCancel:
      return "cancel";
  }
  return "?";
}

ParsedRequests parse_requests(std::string_view text) {
  RequestsParser parser;
  if (std::string fault = find_encoding_fault(text); !fault.empty()) {
    parser.refuse(1, std::move(fault));
    return parser.finish();
  }
  CsvReader reader(text);
  for (CsvRecord record; reader.next(record);) parser.read(record);
  return parser.finish();
}

}  // namespace rushgate
