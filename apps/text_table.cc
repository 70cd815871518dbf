#include "apps/text_table.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "engine/core/base/utf8.h"

namespace rushgate {

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::ptrdiff_t first = number < 0 ? 1 : 0;
  for (auto i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > first; i -= 3) {
    digits.insert(static_cast<std::size_t>(i), 1, ',');
  }
  return digits;
}

std::string printable(std::string_view text) {
  const bool is_text = is_utf8(text);
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto before = i == 0 ? '\0' : text[i - 1];
    // The controls U+0080 to U+009F are 0xC2 and one of these bytes.
    const bool is_second_control = byte >= 0x80 && byte < 0xA0 && before == '\xC2';
    const bool is_control = byte < 0x20 || byte == 0x7F || is_second_control;
    if (is_control || (!is_text && byte > 0x7F)) {
      shown += fmt::format("\\x{:02X}", byte);
    } else {
      shown += text[i];
    }
  }
  return shown;
}

void TextTable::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths(alignment_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      const std::string blanks(widths[i] - row[i].size(), ' ');
      line += alignment_[i] == 'r' ? blanks + row[i] : row[i] + blanks;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace rushgate
