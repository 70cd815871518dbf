// Reads CSV as RFC 4180 defines it, the format that `export` writes. Not a library: those in Debian read
// no line breaks within quotes, or stop at the first malformed record.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace rushgate {

struct CsvRecord {
  std::size_t line = 0;                  // the line of its first field, from 1
  std::vector<std::string_view> fields;  // valid as long as the reader and its text
  std::string fault;                     // if not empty: the record is malformed, without fields
};

/// The records of a text, in its order. Lines end with LF or CRLF. Fields are separated by commas. A
/// field in double quotes may have commas and line breaks, and has each of its quotes doubled. Blanks
/// around a field or its quotes are no part of it. Empty lines and a BOM (U+FEFF) at the beginning are
/// ignored.
///
/// A malformed record ends with its first line, so the next line is read whatever the first one lacks.
class CsvReader {
 public:
  /// The longest field in quotes. A longer one has lost its closing quote.
  static constexpr std::size_t kQuotedBytesMax = 64 * 1024;

  /// Does not own the text.
  explicit CsvReader(std::string_view text);

  /// Reads the next record. Returns false at the end of the text.
  bool next(CsvRecord& record);

 private:
  bool read_field(CsvRecord& record);
  bool read_quoted(CsvRecord& record);
  void refuse(CsvRecord& record, std::string fault);
  [[nodiscard]] bool is_at_end_of_line() const;
  void skip_blanks();
  void skip_line();

  const std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;              // of `at_`
  std::size_t record_at_ = 0;         // where the current record begins
  std::deque<std::string> unquoted_;  // fields with doubled quotes, without the second ones
};

/// Returns a sentence if the text is UTF-16, which is recognised by its byte order mark or by zeros;
/// otherwise an empty string.
std::string find_encoding_fault(std::string_view text);

}  // namespace rushgate
