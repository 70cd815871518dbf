#include "storage/sql/sql_port.h"

#include <algorithm>
#include <cassert>

namespace rushgate::sql {

std::string with_parameters(const Statement& statement, ParameterWriter& writer) {
  constexpr std::string_view kMarks = "?@%";
  const std::string_view from = statement.text;
  std::string text;
  text.reserve(from.size() + 64);
  for (std::size_t at = 0; at < from.size();) {
    const std::size_t mark = std::min(from.find_first_of(kMarks, at), from.size());
    text.append(from.substr(at, mark - at));
    if (mark == from.size()) break;
    std::size_t number = 0;
    for (at = mark + 1; at < from.size() && from[at] >= '0' && from[at] <= '9'; ++at) {
      number = number * 10 + static_cast<std::size_t>(from[at] - '0');
    }
    assert(number > 0);
    switch (from[mark]) {
      case '?':
        writer.write_value(statement.values.at(number - 1), text);
        break;
      case '@':
        writer.write_table(statement.tables.at(number - 1), text);
        break;
      default:
        writer.write_rows(statement.tables.at(number - 1), text);
    }
  }
  return text;
}

}  // namespace rushgate::sql
