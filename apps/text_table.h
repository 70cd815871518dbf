// Formats numbers and columns for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rushgate {

/// Returns 1234567 as 1,234,567.
std::string grouped(std::int64_t number);
inline std::string count_text(std::size_t count) {
  return grouped(static_cast<std::int64_t>(count));
}

/// Lines of cells, in columns as wide as their widest cell.
class TextTable {
 public:
  /// `alignment` has one letter per column: `l`eft or `r`ight.
  explicit TextTable(std::string alignment) : alignment_(std::move(alignment)) {}

  /// Adds a line with one cell per column. Assumes that each character is one byte wide.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] std::string text() const;

 private:
  const std::string alignment_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace rushgate
