#include "apps/text_table.h"

#include <algorithm>
#include <cstddef>

namespace rushgate {

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::ptrdiff_t first = number < 0 ? 1 : 0;
  for (auto i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > first; i -= 3) {
    digits.insert(static_cast<std::size_t>(i), 1, ',');
  }
  return digits;
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
