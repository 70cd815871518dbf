#include "apps/output/record_output.h"

#include <utility>

#include <fmt/format.h>

namespace rushgate {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kLineEnd = "\r\n";

/// Returns true if a spreadsheet would take a cell of these characters for a formula.
bool is_formula(std::string_view cell) {
  return !cell.empty() && std::string_view("=+-@\t\r").find(cell.front()) != cell.npos;
}

std::string csv_value(const Json& value, bool is_for_spreadsheet) {
  if (value.is_null()) return {};
  if (!value.is_string()) return csv_field(value.dump());
  const std::string& cell = value.get_ref<const std::string&>();
  return csv_field(is_for_spreadsheet && is_formula(cell) ? "'" + cell : cell);
}

std::string dump_line(const Json& record) {
  return record.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string csv_field(std::string_view value) {
  constexpr std::string_view kCsvBlanks = " \t";
  const bool has_blank_end = !value.empty() && (kCsvBlanks.find(value.front()) != value.npos ||
                                                kCsvBlanks.find(value.back()) != value.npos);
  if (!has_blank_end && value.find_first_of(",\"\r\n") == value.npos) return std::string(value);
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

RecordOutput::RecordOutput(Format format, std::vector<std::string> fields)
    : format_(format), fields_(std::move(fields)) {
  if (format_ == Format::kJson) {
    fmt::print("[");
    return;
  }
  std::string header;
  for (const std::string& field : fields_) header += (header.empty() ? "" : ",") + field;
  fmt::print("{}{}", header, kLineEnd);
}

void RecordOutput::write(const Json& record) {
  const bool is_first = std::exchange(is_first_, false);
  if (format_ == Format::kJson) {
    fmt::print("{}\n  {}", is_first ? "" : ",", dump_line(record));
    return;
  }
  std::string line;
  for (const std::string& field : fields_) {
    if (&field != &fields_.front()) line += ',';
    line += csv_value(record.at(field), format_ == Format::kSpreadsheet);
  }
  fmt::print("{}{}", line, kLineEnd);
}

void RecordOutput::finish() {
  if (format_ == Format::kJson) fmt::print("{}]\n", is_first_ ? "" : "\n");
}

}  // namespace rushgate
