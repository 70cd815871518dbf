// Records as CSV or JSON, written one by one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace rushgate {

/// Returns a field of CSV, quoted if RFC 4180 requires it, or if blanks are at either end.
std::string csv_field(std::string_view value);

/// Writes flat objects with equal fields to stdout. Keeps none of them.
class RecordOutput {
 public:
  enum class Format : std::uint8_t {
    kCsv,          // a header, then a line for each record (RFC 4180); null becomes an empty field
    kSpreadsheet,  // the same; strings that a spreadsheet would take for formulas begin with '
    kJson,         // one array
  };

  RecordOutput(Format format, std::vector<std::string> fields);

  /// Writes the fields that the constructor got, which the object must have.
  void write(const nlohmann::ordered_json& record);
  /// Ends the output. Call it once, after the last record.
  void finish();

 private:
  const Format format_;
  const std::vector<std::string> fields_;
  bool is_first_ = true;
};

}  // namespace rushgate
