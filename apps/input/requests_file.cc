#include "apps/input/requests_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "apps/input/row_links.h"
#include "engine/base/numbers.h"

namespace rushgate {
namespace {

constexpr std::array<std::string_view, 3> kRequired = {"at_ms", "user_id", "voucher_id"};
constexpr std::string_view kRequiredText = "at_ms,user_id,voucher_id";
constexpr std::string_view kOptionalText = "event, key and amount_cents";
constexpr std::size_t kBadLinesKept = 100;
constexpr std::size_t kExcerptMax = 40;

using Fields = std::vector<std::string_view>;

/// The columns of a file, and the places of the optional ones. 0: it is missing.
struct Columns {
  std::string names{kRequiredText};
  std::size_t count = kRequired.size();
  std::size_t event = 0;
  std::size_t key = 0;
  std::size_t amount = 0;
  /// Whether users may have names: so if the first one has. Otherwise a name is a mistake.
  std::optional<bool> with_names = {};

  /// Returns the place of an optional column; null if there is none of this name.
  std::size_t* find(std::string_view name) {
    if (name == "event") return &event;
    if (name == "key") return &key;
    return name == "amount_cents" ? &amount : nullptr;
  }
};

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view strip(std::string_view text) {
  constexpr std::string_view kBlanks = " 	";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

/// Returns the field without spaces around it, and without the quotes that some programs add.
std::string_view bare(std::string_view field) {
  field = strip(field);
  if (field.size() >= 2 && field.front() == '"' && field.back() == '"') {
    field = field.substr(1, field.size() - 2);
  }
  return field;
}

Fields split(std::string_view line) {
  Fields fields;
  while (true) {
    const std::size_t comma = line.find(',');
    fields.push_back(bare(line.substr(0, comma)));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

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
    return fmt::format("the columns must be {}, not \"{}\" for {}", kRequiredText,
                       fields[i].substr(0, kExcerptMax), kRequired[i]);
  }
  for (std::size_t i = kRequired.size(); i < fields.size(); ++i) {
    std::size_t* const place = columns.find(fields[i]);
    if (place == nullptr || *place != 0) {
      return fmt::format("after {} there may be the columns {}, each once, not \"{}\"",
                         kRequiredText, kOptionalText, fields[i].substr(0, kExcerptMax));
    }
    *place = i;
    columns.names += fmt::format(",{}", fields[i]);
  }
  columns.count = fields.size();
  return std::nullopt;
}

/// Returns the fault in the columns that every file has, if there is one.
std::optional<std::string> read_request(const Fields& fields, Columns& columns, RequestRow& row) {
  constexpr std::size_t kUser = 1;
  row.user = UserId(fields[kUser]);
  const bool with_names = columns.with_names.value_or(!row.user.is_number());
  std::int64_t user = 0;
  const std::array<std::int64_t*, kRequired.size()> numbers = {&row.at_ms, &user, &row.voucher};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i == kUser && with_names) continue;
    const auto value = parse_int64(fields[i]);
    if (!value) {
      return fmt::format("{} is not a whole number: \"{}\"", kRequired[i],
                         fields[i].substr(0, kExcerptMax));
    }
    *numbers[i] = *value;
  }
  if (const std::string fault = row.user.find_fault(); !fault.empty()) {
    return fmt::format("user_id: {}: \"{}\"", fault, fields[kUser].substr(0, kExcerptMax));
  }
  columns.with_names = with_names;
  if (row.at_ms < 0) return fmt::format("at_ms must not be negative: {}", row.at_ms);
  return std::nullopt;
}

std::optional<std::string> read_event(std::string_view field, RequestRow& row) {
  for (const RowEvent event : {RowEvent::kBuy, RowEvent::kPay, RowEvent::kCancel}) {
    if (field != row_event_name(event)) continue;
    row.event = event;
    return std::nullopt;
  }
  if (field.empty()) return std::nullopt;
  return fmt::format("event must be buy, pay or cancel, not \"{}\"", field.substr(0, kExcerptMax));
}

std::optional<std::string> read_amount(std::string_view field, RequestRow& row) {
  if (field.empty()) return std::nullopt;
  if (row.event != RowEvent::kPay) {
    return fmt::format("amount_cents is for pay rows: \"{}\"", field.substr(0, kExcerptMax));
  }
  const auto value = parse_int64(field);
  if (!value || *value <= 0) {
    return fmt::format("amount_cents is not a positive whole number: \"{}\"",
                       field.substr(0, kExcerptMax));
  }
  row.amount_cents = *value;
  return std::nullopt;
}

/// Returns the fault in the values, if there is one.
std::optional<std::string> read_row(const Fields& fields, Columns& columns, RequestRow& row) {
  if (fields.size() != columns.count) {
    return fmt::format("{} {} where {} are expected ({})", fields.size(),
                       fields.size() == 1 ? "field" : "fields", columns.count, columns.names);
  }
  auto fault = read_request(fields, columns, row);
  if (!fault && columns.event != 0) fault = read_event(fields[columns.event], row);
  if (!fault && columns.amount != 0) fault = read_amount(fields[columns.amount], row);
  return fault;
}

/// Reads a file line by line.
class RequestsParser {
 public:
  void read(std::string_view line, std::size_t number) {
    const Fields fields = split(line);
    const bool is_first = std::exchange(is_first_, false);
    if (is_first && is_header(fields)) {
      if (auto fault = read_header(fields, columns_)) refuse(number, *std::move(fault));
      return;
    }
    RequestRow row{.line = number};
    if (auto fault = read_row(fields, columns_, row)) return refuse(number, *std::move(fault));
    if (columns_.key != 0 && !fields[columns_.key].empty()) keys_[number] = fields[columns_.key];
    parsed_.rows.push_back(std::move(row));
  }

  ParsedRequests finish() {
    std::stable_sort(parsed_.rows.begin(), parsed_.rows.end(),
                     [](const RequestRow& a, const RequestRow& b) { return a.at_ms < b.at_ms; });
    if (columns_.event != 0) {
      link_rows(parsed_.rows, keys_, [this](const RequestRow& row, std::string reason) {
        refuse(row.line, std::move(reason));
      });
    }
    return std::move(parsed_);
  }

 private:
  void refuse(std::size_t line, std::string reason) {
    ++parsed_.bad_count;
    if (parsed_.bad.size() < kBadLinesKept) parsed_.bad.push_back({line, std::move(reason)});
  }

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
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  RequestsParser parser;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (!strip(line).empty()) parser.read(line, number);
  }
  return parser.finish();
}

}  // namespace rushgate
