#include "engine/keyspace/hash_value.h"

namespace rushgate {

bool HashValue::contains(std::string_view field) const {
  if (const auto integer = parse_int64(field); integer && integers_.contains(*integer)) return true;
  return texts_.contains(field);
}

std::optional<std::string> HashValue::find(std::string_view field) const {
  if (const auto integer = parse_int64(field)) {
    if (const auto* item = integers_.find(*integer))
      return std::string(DecimalText(item->value).view());
  }
  if (const auto* item = texts_.find(field)) return item->value;
  return std::nullopt;
}

std::optional<std::int64_t> HashValue::find_integer(std::string_view field) const {
  if (const auto integer = parse_int64(field)) {
    if (const auto* item = integers_.find(*integer)) return item->value;
  }
  if (const auto* item = texts_.find(field)) return parse_int64(item->value);
  return std::nullopt;
}

std::optional<std::string> HashValue::assign(std::string_view field, std::string_view value) {
  const auto integer_field = parse_int64(field);
  const auto integer_value = parse_int64(value);
  if (integer_field && integer_value) {
    if (auto* item = integers_.find(*integer_field)) {
      return std::string(DecimalText(std::exchange(item->value, *integer_value)).view());
    }
    std::optional<std::string> old = erase(field);
    integers_.insert({*integer_field, *integer_value});
    return old;
  }
  if (auto* item = texts_.find(field)) return std::exchange(item->value, std::string(value));
  std::optional<std::string> old = erase(field);
  texts_.insert({std::string(field), std::string(value)});
  return old;
}

std::optional<std::string> HashValue::erase(std::string_view field) {
  if (const auto integer = parse_int64(field)) {
    IntegerField::Item taken{};
    if (integers_.take(*integer, &taken)) return std::string(DecimalText(taken.value).view());
  }
  TextField::Item taken;
  if (texts_.take(field, &taken)) return std::move(taken.value);
  return std::nullopt;
}

}  // namespace rushgate
