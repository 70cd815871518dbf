#include "apps/input/csv_reader.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace rushgate {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kBlanks = " \t";

std::string_view without_blanks_at_end(std::string_view field) {
  return field.substr(0, field.find_last_not_of(" \t\r") + 1);
}

/// Returns the field with one quote for each pair of them.
std::string halve_quotes(std::string_view field) {
  std::string halved;
  halved.reserve(field.size());
  for (std::size_t i = 0; i < field.size(); ++i) {
    halved += field[i];
    if (field[i] == '"') ++i;
  }
  return halved;
}

}  // namespace

CsvReader::CsvReader(std::string_view text)
    : text_(text), at_(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0) {}

bool CsvReader::next(CsvRecord& record) {
  record.fields.clear();
  record.fault.clear();
  skip_blanks();
  while (at_ < text_.size() && is_at_end_of_line()) {
    skip_line();
    skip_blanks();
  }
  if (at_ == text_.size()) return false;
  record.line = line_;
  record_at_ = at_;
  while (read_field(record)) {
  }
  return true;
}

/// Reads a field and the comma or the end of the line after it. Returns true after a comma.
bool CsvReader::read_field(CsvRecord& record) {
  skip_blanks();
  if (at_ < text_.size() && text_[at_] == '"') {
    if (!read_quoted(record)) return false;
    skip_blanks();
    if (at_ < text_.size() && text_[at_] != ',' && !is_at_end_of_line()) {
      refuse(record, "there is more after the closing quote of a field");
      return false;
    }
  } else {
    const std::size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
    const std::string_view field = text_.substr(at_, end - at_);
    if (field.find('"') != field.npos) {
      refuse(record, "a field with a quote must be in quotes, and its quotes doubled");
      return false;
    }
    record.fields.push_back(without_blanks_at_end(field));
    at_ = end;
  }
  if (at_ < text_.size() && text_[at_] == ',') {
    ++at_;
    return true;
  }
  skip_line();
  return false;
}

/// Reads a field in quotes. Returns false if its closing quote is missing.
bool CsvReader::read_quoted(CsvRecord& record) {
  const std::size_t begin = ++at_;
  bool has_quotes = false;
  while (true) {
    const std::size_t quote = text_.substr(at_, kQuotedBytesMax + 1).find('"');
    if (quote == text_.npos || at_ + quote - begin > kQuotedBytesMax) {
      refuse(record, "the closing quote of a field is missing");
      return false;
    }
    at_ += quote + 1;
    if (at_ == text_.size() || text_[at_] != '"') break;
    has_quotes = true;
    ++at_;
  }
  const std::string_view field = text_.substr(begin, at_ - 1 - begin);
  line_ += static_cast<std::size_t>(std::count(field.begin(), field.end(), '\n'));
  record.fields.push_back(has_quotes ? unquoted_.emplace_back(halve_quotes(field)) : field);
  return true;
}

/// Ends the record with its first line.
void CsvReader::refuse(CsvRecord& record, std::string fault) {
  record.fields.clear();
  record.fault = std::move(fault);
  at_ = record_at_;
  line_ = record.line;
  skip_line();
}

bool CsvReader::is_at_end_of_line() const {
  const std::string_view rest = text_.substr(at_);
  return rest.empty() || rest.starts_with('\n') || rest.starts_with("\r\n") || rest == "\r";
}

void CsvReader::skip_blanks() {
  at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size());
}

void CsvReader::skip_line() {
  const std::size_t end = text_.find('\n', at_);
  at_ = end == text_.npos ? text_.size() : end + 1;
  ++line_;
}

std::string find_encoding_fault(std::string_view text) {
  const std::string_view begin = text.substr(0, 2);
  const bool is_utf16 = begin == "\xFF\xFE" || begin == "\xFE\xFF" ||
                        (begin.size() == 2 && (begin[0] == '\0') != (begin[1] == '\0'));
  return is_utf16 ? "the file is UTF-16; save it as UTF-8" : "";
}

}  // namespace rushgate
