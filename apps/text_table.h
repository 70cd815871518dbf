// Formats numbers and columns for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rushgate {

/// Returns 1234567 as 1,234,567.
std::string grouped(std::int64_t number);
inline std::string count_text(std::size_t count) {
  return grouped(static_cast<std::int64_t>(count));
}

/// Returns the text with `\xHH` for each control character and for each byte above 0x7F if it is not
/// UTF-8. References and ids come from strangers: on a terminal they would move the cursor, or forge
/// lines.
std::string printable(std::string_view text);

/// Lines of cells, in columns as wide as their widest cell.
class TextTable {
 public:
  /// `alignment` has one letter per column: `l`eft or `r`ight.
  explicit TextTable(std::string alignment) : alignment_(std::move(alignment)) {}

  /// Adds a line with one cell per column, each made printable(). Assumes that each character is one
  /// byte wide.
  void add(std::vector<std::string> cells);

  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] std::string text() const;

 private:
  const std::string alignment_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace rushgate
