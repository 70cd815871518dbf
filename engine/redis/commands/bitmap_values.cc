#include "engine/redis/commands/bitmap_values.h"

#include <string>
#include <variant>

#include "engine/core/base/bits.h"
#include "engine/redis/keyspace/strings.h"

namespace rushgate {
namespace {

const StringValue* string_of(const Object* object) {
  return object == nullptr ? nullptr : &object->string();
}

bool is_integer(const StringValue* string) { return string != nullptr && string->is_integer(); }

}  // namespace

BitmapBytes::BitmapBytes(const Object* object)
    : digits_(is_integer(string_of(object)) ? *string_of(object)->integer() : 0) {
  if (const StringValue* const string = string_of(object))
    view_ = string->is_integer() ? digits_.view() : string->text();
}

std::optional<std::uint64_t> parse_bit_offset(std::string_view text, std::size_t bytes_max,
                                              unsigned width) {
  const bool is_scaled = width != 0 && text.starts_with('#');
  const auto number = parse_int64(text.substr(is_scaled ? 1 : 0));
  if (!number) return std::nullopt;
  // As in Redis, a product that is too large wraps around.
  const std::uint64_t offset = static_cast<std::uint64_t>(*number) * (is_scaled ? width : 1);
  if (offset / kByteBits >= bytes_max) return std::nullopt;
  return offset;
}

bool make_bitmap(Database& db, std::string_view key, Object*& object, std::size_t size) {
  if (object == nullptr) {
    object = &db.create(key, StringValue::as_buffer(std::string(size, '\0')));
    return true;
  }
  strings::make_buffer(db, *object);
  if (object->string().size() >= size) return false;
  strings::overwrite(db, *object, size, {});
  return true;
}

void write_bits(Database& db, Object& object, std::uint64_t position, unsigned count,
                std::uint64_t value) {
  const std::uint64_t first = position / kByteBits;
  const std::uint64_t last = (position + count - 1) / kByteBits;
  std::string changed(object.string().text().substr(first, last - first + 1));
  write_bits(changed, position % kByteBits, count, value);
  strings::overwrite(db, object, first, changed);
}

}  // namespace rushgate
