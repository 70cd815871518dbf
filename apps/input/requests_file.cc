#include "apps/input/requests_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "engine/base/numbers.h"

namespace rushgate {
namespace {

constexpr std::array<std::string_view, 3> kColumns = {"at_ms", "user_id", "voucher_id"};
constexpr std::string_view kColumnsText = "at_ms,user_id,voucher_id";
constexpr std::size_t kBadLinesKept = 100;
constexpr std::size_t kExcerptMax = 40;

using Fields = std::array<std::string_view, kColumns.size()>;

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

/// Splits a line. Returns the error if the number of fields is wrong.
std::optional<std::string> split(std::string_view line, Fields& fields) {
  std::size_t count = 0;
  while (true) {
    const std::size_t comma = line.find(',');
    if (count < fields.size()) fields[count] = bare(line.substr(0, comma));
    ++count;
    if (comma == std::string_view::npos) break;
    line.remove_prefix(comma + 1);
  }
  if (count == fields.size()) return std::nullopt;
  return fmt::format("{} {} where 3 are expected ({})", count, count == 1 ? "field" : "fields",
                     kColumnsText);
}

bool is_header(const Fields& fields) {
  return std::none_of(fields.begin(), fields.end(), [](std::string_view field) {
    return field.empty() || parse_int64(field).has_value();
  });
}

/// Returns the error in a first line that holds no number, if there is one.
std::optional<std::string> check_header(const Fields& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i] == kColumns[i]) continue;
    return fmt::format("the columns must be {}, not \"{}\" for {}", kColumnsText,
                       fields[i].substr(0, kExcerptMax), kColumns[i]);
  }
  return std::nullopt;
}

/// Returns the error in the values, if there is one.
std::optional<std::string> read_row(const Fields& fields, RequestRow& row) {
  const std::array<std::int64_t*, kColumns.size()> values = {&row.at_ms, &row.user, &row.voucher};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto value = parse_int64(fields[i]);
    if (!value) {
      return fmt::format("{} is not a whole number: \"{}\"", kColumns[i],
                         fields[i].substr(0, kExcerptMax));
    }
    *values[i] = *value;
  }
  if (row.at_ms < 0) return fmt::format("at_ms must not be negative: {}", row.at_ms);
  return std::nullopt;
}

}  // namespace

ParsedRequests parse_requests(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  ParsedRequests parsed;
  bool is_first = true;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (strip(line).empty()) continue;
    Fields fields;
    RequestRow row{.at_ms = 0, .user = 0, .voucher = 0, .line = number};
    std::optional<std::string> fault = split(line, fields);
    const bool header = std::exchange(is_first, false) && !fault && is_header(fields);
    if (header) fault = check_header(fields);
    if (!header && !fault) fault = read_row(fields, row);
    if (fault) {
      ++parsed.bad_count;
      if (parsed.bad.size() < kBadLinesKept) parsed.bad.push_back({number, *std::move(fault)});
    } else if (!header) {
      parsed.rows.push_back(row);
    }
  }
  std::stable_sort(parsed.rows.begin(), parsed.rows.end(),
                   [](const RequestRow& a, const RequestRow& b) { return a.at_ms < b.at_ms; });
  return parsed;
}

}  // namespace rushgate
