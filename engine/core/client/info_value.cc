#include "engine/core/client/info_value.h"

#include <algorithm>
#include <cstddef>

namespace rushgate {

std::string_view info_value(std::string_view info, std::string_view field) {
  std::size_t line = 0;
  while (line < info.size()) {
    const std::size_t end = std::min(info.find('\n', line), info.size());
    std::string_view text = info.substr(line, end - line);
    line = end + 1;
    if (!text.starts_with(field) || text.substr(field.size(), 1) != ":") continue;
    text.remove_prefix(field.size() + 1);
    if (text.ends_with('\r')) text.remove_suffix(1);
    return text;
  }
  return {};
}

}  // namespace rushgate
