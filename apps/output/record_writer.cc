#include "apps/output/record_writer.h"

#include <utility>

#include <fmt/format.h>

namespace rushgate {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kLineEnd = "\r\n";

std::string csv_value(const Json& value) {
  if (value.is_null()) return {};
  return csv_field(value.is_string() ? value.get<std::string>() : value.dump());
}

std::string dump_line(const Json& record) {
  return record.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string csv_field(std::string_view value) {
  if (value.find_first_of(",\"\r\n") == value.npos) return std::string(value);
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

RecordWriter::RecordWriter(Format format, std::vector<std::string> fields)
    : format_(format), fields_(std::move(fields)) {
  if (format_ == Format::kJson) {
    fmt::print("[");
    return;
  }
  std::string header;
  for (const std::string& field : fields_) header += (header.empty() ? "" : ",") + field;
  fmt::print("{}{}", header, kLineEnd);
}

void RecordWriter::write(const Json& record) {
  const bool is_first = std::exchange(is_first_, false);
  if (format_ == Format::kJson) {
    fmt::print("{}\n  {}", is_first ? "" : ",", dump_line(record));
    return;
  }
  std::string line;
  for (const std::string& field : fields_) {
    if (&field != &fields_.front()) line += ',';
    line += csv_value(record.at(field));
  }
  fmt::print("{}{}", line, kLineEnd);
}

void RecordWriter::finish() {
  if (format_ == Format::kJson) fmt::print("{}]\n", is_first_ ? "" : "\n");
}

}  // namespace rushgate
