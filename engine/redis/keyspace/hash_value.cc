#include "engine/redis/keyspace/hash_value.h"

#include <algorithm>

#include "engine/core/base/heap.h"
#include "engine/core/base/numbers.h"

namespace rushgate {

// ---- A large hash ----

std::optional<HashValue::Value> HashValue::Tables::assign(std::string_view field,
                                                          std::string_view value) {
  const MaybeInteger key(field);
  const auto integer_value = parse_int64(value);
  if (key.is_integer() && integer_value) {
    if (auto* item = integers.find(key.integer())) {
      return std::exchange(item->value, *integer_value);
    }
    integers.insert({key.integer(), *integer_value});
    return take_text(key);
  }
  if (auto* item = texts.find(key)) {
    std::string text(value);
    text_bytes -= heap_bytes(*item);
    item->value.swap(text);
    text_bytes += heap_bytes(*item);
    return text;
  }
  text_bytes += heap_bytes(texts.insert({std::string(field), std::string(value)}));
  return take_integer(key);
}

std::optional<HashValue::Value> HashValue::Tables::erase(std::string_view field) {
  const MaybeInteger key(field);
  if (std::optional<Value> integer = take_integer(key)) return integer;
  return take_text(key);
}

/// Undoes an assign() or erase() that returned `old`. Needs no memory.
void HashValue::Tables::restore(std::string field, Value old) {
  const MaybeInteger key(field);
  if (const auto* integer = std::get_if<std::int64_t>(&old)) {
    if (auto* item = integers.find(key.integer())) {
      item->value = *integer;
    } else {
      take_text(key);
      integers.insert({key.integer(), *integer});
    }
    return;
  }
  // The pair that replaced it must be removed first: `key` is a view of `field`.
  take_integer(key);
  take_text(key);
  text_bytes += heap_bytes(texts.insert({std::move(field), std::get<std::string>(std::move(old))}));
}

std::optional<HashValue::Value> HashValue::Tables::take_integer(const MaybeInteger& field) {
  IntegerField::Item taken{};
  if (!field.is_integer() || !integers.take(field.integer(), &taken)) return std::nullopt;
  return taken.value;
}

std::optional<HashValue::Value> HashValue::Tables::take_text(const MaybeInteger& field) {
  TextField::Item taken;
  if (!texts.take(field, &taken)) return std::nullopt;
  text_bytes -= heap_bytes(taken);
  return std::move(taken.value);
}

// ---- Both forms ----

bool HashValue::contains(std::string_view field) const {
  if (hides(field)) return false;
  if (!is_large()) return packed_.value_of(field).has_value();
  const MaybeInteger key(field);
  return (key.is_integer() && tables().integers.contains(key.integer())) ||
         tables().texts.contains(key);
}

std::optional<std::string> HashValue::find(std::string_view field) const {
  if (hides(field)) return std::nullopt;
  if (!is_large()) {
    const std::optional<std::string_view> value = packed_.value_of(field);
    return value ? std::optional(std::string(*value)) : std::nullopt;
  }
  const MaybeInteger key(field);
  if (key.is_integer()) {
    if (const auto* item = tables().integers.find(key.integer()))
      return std::string(DecimalText(item->value).view());
  }
  if (const auto* item = tables().texts.find(key)) return item->value;
  return std::nullopt;
}

std::optional<std::int64_t> HashValue::find_integer(std::string_view field) const {
  if (hides(field)) return std::nullopt;
  if (!is_large()) {
    const std::optional<std::string_view> value = packed_.value_of(field);
    return value ? parse_int64(*value) : std::nullopt;
  }
  const MaybeInteger key(field);
  if (key.is_integer()) {
    if (const auto* item = tables().integers.find(key.integer())) return item->value;
  }
  if (const auto* item = tables().texts.find(key)) return parse_int64(item->value);
  return std::nullopt;
}

HashValue::Assigned HashValue::assign(std::string_view field, std::string_view value) {
  if (is_large()) {
    return {.field = std::string(field),
            .old = tables().assign(field, value),
            .place = PackedPairs::kNone,
            .position = 0};
  }
  Assigned done{.field = {}, .old = std::nullopt, .place = PackedPairs::kNone, .position = 0};
  const PackedPairs::Pair pair = packed_.find(field);
  if (pair.place == PackedPairs::kNone) {
    done.place = packed_.bytes();
    done.position = packed_.next_position();
    packed_.insert(done.place, field, value, done.position);
  } else {
    done.place = pair.place;
    done.position = pair.position;
    done.old.emplace(std::string(pair.value));
    packed_.assign(pair, value);
  }
  return done;
}

void HashValue::roll_back(Assigned assigned) {
  if (is_large() && assigned.old) {
    tables().restore(std::move(assigned.field), *std::move(assigned.old));
  } else if (is_large()) {
    tables().erase(assigned.field);
  } else if (assigned.old) {
    packed_.assign(packed_.at(assigned.place), std::get<std::string>(*assigned.old));
  } else {
    packed_.erase(packed_.at(assigned.place));
  }
}

HashValue::Erased HashValue::erase(std::string_view field) {
  Erased done{
      .field = std::string(field), .old = std::nullopt, .place = PackedPairs::kNone, .position = 0};
  if (is_large()) {
    done.old = tables().erase(field);
    return done;
  }
  const PackedPairs::Pair pair = packed_.find(field);
  if (pair.place == PackedPairs::kNone) return done;
  done.place = pair.place;
  done.position = pair.position;
  done.old = std::string(pair.value);
  packed_.erase(pair);
  return done;
}

void HashValue::roll_back(Erased erased) {
  if (is_large()) {
    tables().restore(std::move(erased.field), *std::move(erased.old));
  } else {
    packed_.insert(erased.place, erased.field, std::get<std::string>(*erased.old), erased.position);
  }
}

PackedPairs HashValue::grow() {
  auto tables = std::make_unique<Tables>(std::uint64_t{seed_});
  packed_.for_each(
      [&](std::string_view field, std::string_view value) { tables->assign(field, value); });
  extras().tables = std::move(tables);
  return std::exchange(packed_, {});
}

void HashValue::roll_back(PackedPairs packed) {
  packed_ = std::move(packed);
  extras_->tables.reset();
  drop_empty_extras();
}

FieldExpiries::Assigned HashValue::assign_expiry(std::string_view field,
                                                 std::int64_t expire_at_ms) {
  if (expiries() != nullptr) return expiries()->assign(field, expire_at_ms);
  auto made = std::make_unique<FieldExpiries>();
  FieldExpiries::Assigned assigned = made->assign(field, expire_at_ms);
  extras().expiries = std::move(made);
  return assigned;
}

void HashValue::drop_expiries() {
  if (extras_ == nullptr) return;
  extras_->expiries.reset();
  drop_empty_extras();
}

HashValue::Extras& HashValue::extras() {
  if (extras_ == nullptr) extras_ = std::make_unique<Extras>();
  return *extras_;
}

void HashValue::drop_empty_extras() {
  if (extras_->tables == nullptr && extras_->expiries == nullptr) extras_.reset();
}

bool HashValue::load(std::string_view field, std::string_view value, std::uint32_t position) {
  if (is_large()) return !tables().assign(field, value).has_value();
  if (packed_.value_of(field)) return false;
  packed_.insert(packed_.bytes(), field, value, position);
  return true;
}

bool HashValue::outgrows(const EncodingLimits& limits, std::string_view field,
                         std::string_view value) const {
  if (static_cast<std::int64_t>(field.size()) > limits.hash_value_bytes ||
      static_cast<std::int64_t>(value.size()) > limits.hash_value_bytes ||
      packed_.bytes() + field.size() + value.size() > PackedPairs::kBytesMax ||
      packed_.next_position() > PackedPairs::kPositionMax) {
    return true;
  }
  const auto pairs = static_cast<std::int64_t>(packed_.size());
  return pairs >= limits.hash_entries && (pairs > limits.hash_entries || !contains(field));
}

std::string HashValue::draw(Random& random) const {
  // Less work than the search below, and almost always enough.
  const std::size_t attempts_max = std::max<std::size_t>(64, stored_size() / 16);
  for (std::size_t i = 0; i < attempts_max; ++i) {
    std::string field = draw_stored(random);
    if (!hides(field)) return field;
  }
  // Most fields are hidden.
  std::uint64_t index = random.below(size());
  std::string drawn;
  for_each([&](std::string_view field, std::string_view) {
    if (index-- == 0) drawn = field;
  });
  return drawn;
}

std::string HashValue::draw_stored(Random& random) const {
  const std::uint64_t index = random.below(stored_size());
  if (!is_large()) return std::string(packed_.by_index(index).field);
  if (index >= tables().integers.size()) return tables().texts.draw(random).field;
  return std::string(DecimalText(tables().integers.draw(random).field).view());
}

}  // namespace rushgate
