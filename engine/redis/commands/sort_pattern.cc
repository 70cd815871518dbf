#include "engine/redis/commands/sort_pattern.h"

#include <cstddef>

#include "engine/core/base/concat.h"
#include "engine/redis/commands/errors.h"

namespace rushgate {

// As in Redis, the signs of a pattern precede its first NUL. The bytes after a NUL are part of the
// key or field.
SortPattern::SortPattern(std::string_view argument) {
  constexpr std::string_view kArrow = "->";
  const std::string_view signs = errors::as_c_string(argument);
  is_element_ = signs == "#";
  const std::size_t star = signs.find('*');
  has_star_ = star != std::string_view::npos;
  if (!has_star_) return;
  prefix_ = argument.substr(0, star);
  suffix_ = argument.substr(star + 1);
  const std::size_t arrow = signs.find(kArrow, star + 1);
  if (arrow == std::string_view::npos || arrow + kArrow.size() == signs.size()) return;
  suffix_ = argument.substr(star + 1, arrow - star - 1);
  field_ = argument.substr(arrow + kArrow.size());
}

std::optional<std::string> SortPattern::find(Database& db, std::string_view element) const {
  if (is_element_) return std::string(element);
  if (!has_star_) return std::nullopt;
  Object* const object = db.find(concat(prefix_, element, suffix_));
  if (object == nullptr) return std::nullopt;
  if (field_)
    return object->type() == ValueType::kHash ? object->hash().find(*field_) : std::nullopt;
  if (object->type() != ValueType::kString) return std::nullopt;
  return object->string().bytes();
}

}  // namespace rushgate
