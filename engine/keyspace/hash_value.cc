#include "engine/keyspace/hash_value.h"

namespace rushgate {

bool HashValue::contains(std::string_view field) const {
  const Scalar key(field);
  return (key.is_integer() && integers_.contains(key.integer())) || texts_.contains(key);
}

std::optional<std::string> HashValue::find(std::string_view field) const {
  const Scalar key(field);
  if (key.is_integer()) {
    if (const auto* item = integers_.find(key.integer()))
      return std::string(DecimalText(item->value).view());
  }
  if (const auto* item = texts_.find(key)) return item->value;
  return std::nullopt;
}

std::optional<std::int64_t> HashValue::find_integer(std::string_view field) const {
  const Scalar key(field);
  if (key.is_integer()) {
    if (const auto* item = integers_.find(key.integer())) return item->value;
  }
  if (const auto* item = texts_.find(key)) return parse_int64(item->value);
  return std::nullopt;
}

std::optional<std::string> HashValue::assign(std::string_view field, std::string_view value) {
  const Scalar key(field);
  const auto integer_value = parse_int64(value);
  if (key.is_integer() && integer_value) {
    if (auto* item = integers_.find(key.integer())) {
      return std::string(DecimalText(std::exchange(item->value, *integer_value)).view());
    }
    std::optional<std::string> old = erase(field);
    integers_.insert({key.integer(), *integer_value});
    return old;
  }
  if (auto* item = texts_.find(key)) {
    text_bytes_ -= heap_bytes(*item);
    std::string old = std::exchange(item->value, std::string(value));
    text_bytes_ += heap_bytes(*item);
    return old;
  }
  std::optional<std::string> old = erase(field);
  text_bytes_ += heap_bytes(texts_.insert({std::string(field), std::string(value)}));
  return old;
}

std::optional<std::string> HashValue::erase(std::string_view field) {
  const Scalar key(field);
  if (key.is_integer()) {
    IntegerField::Item taken{};
    if (integers_.take(key.integer(), &taken)) return std::string(DecimalText(taken.value).view());
  }
  TextField::Item taken;
  if (!texts_.take(key, &taken)) return std::nullopt;
  text_bytes_ -= heap_bytes(taken);
  return std::move(taken.value);
}

std::string HashValue::draw(Random& random) const {
  if (random.below(size()) >= integers_.size()) return texts_.draw(random).field;
  return std::string(DecimalText(integers_.draw(random).field).view());
}

}  // namespace rushgate
