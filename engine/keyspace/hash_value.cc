#include "engine/keyspace/hash_value.h"

#include "engine/base/heap.h"
#include "engine/base/numbers.h"

namespace rushgate {

bool HashValue::contains(std::string_view field) const {
  const MaybeInteger key(field);
  return (key.is_integer() && integers_.contains(key.integer())) || texts_.contains(key);
}

std::optional<std::string> HashValue::find(std::string_view field) const {
  const MaybeInteger key(field);
  if (key.is_integer()) {
    if (const auto* item = integers_.find(key.integer()))
      return std::string(DecimalText(item->value).view());
  }
  if (const auto* item = texts_.find(key)) return item->value;
  return std::nullopt;
}

std::optional<std::int64_t> HashValue::find_integer(std::string_view field) const {
  const MaybeInteger key(field);
  if (key.is_integer()) {
    if (const auto* item = integers_.find(key.integer())) return item->value;
  }
  if (const auto* item = texts_.find(key)) return parse_int64(item->value);
  return std::nullopt;
}

std::optional<HashValue::Value> HashValue::assign(std::string_view field, std::string_view value) {
  const MaybeInteger key(field);
  const auto integer_value = parse_int64(value);
  if (key.is_integer() && integer_value) {
    if (auto* item = integers_.find(key.integer())) {
      return std::exchange(item->value, *integer_value);
    }
    integers_.insert({key.integer(), *integer_value});
    return take_text(key);
  }
  if (auto* item = texts_.find(key)) {
    std::string text(value);
    text_bytes_ -= heap_bytes(*item);
    item->value.swap(text);
    text_bytes_ += heap_bytes(*item);
    return text;
  }
  text_bytes_ += heap_bytes(texts_.insert({std::string(field), std::string(value)}));
  return take_integer(key);
}

std::optional<HashValue::Value> HashValue::erase(std::string_view field) {
  const MaybeInteger key(field);
  if (std::optional<Value> integer = take_integer(key)) return integer;
  return take_text(key);
}

void HashValue::restore(std::string field, Value old) {
  const MaybeInteger key(field);
  if (const auto* integer = std::get_if<std::int64_t>(&old)) {
    if (auto* item = integers_.find(key.integer())) {
      item->value = *integer;
    } else {
      take_text(key);
      integers_.insert({key.integer(), *integer});
    }
    return;
  }
  // The pair that replaced it must be removed first: `key` is a view of `field`.
  take_integer(key);
  take_text(key);
  text_bytes_ +=
      heap_bytes(texts_.insert({std::move(field), std::get<std::string>(std::move(old))}));
}

std::optional<HashValue::Value> HashValue::take_integer(const MaybeInteger& field) {
  IntegerField::Item taken{};
  if (!field.is_integer() || !integers_.take(field.integer(), &taken)) return std::nullopt;
  return taken.value;
}

std::optional<HashValue::Value> HashValue::take_text(const MaybeInteger& field) {
  TextField::Item taken;
  if (!texts_.take(field, &taken)) return std::nullopt;
  text_bytes_ -= heap_bytes(taken);
  return std::move(taken.value);
}

std::string HashValue::draw(Random& random) const {
  if (random.below(size()) >= integers_.size()) return texts_.draw(random).field;
  return std::string(DecimalText(integers_.draw(random).field).view());
}

}  // namespace rushgate
