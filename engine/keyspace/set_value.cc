#include "engine/keyspace/set_value.h"

#include <cassert>

namespace rushgate {

bool SetValue::insert(std::string_view member, const EncodingLimits& limits) {
  const std::optional<std::int64_t> integer = parse_int64(member);
  if (!is_large() && outgrows(limits, integer)) static_cast<void>(grow());
  return integer ? insert_integer(*integer) : insert_text(member);
}

bool SetValue::insert_text(std::string_view member) {
  const auto [text, is_new] =
      tables_->texts.find_or_insert(member, [member] { return std::string(member); });
  if (is_new) tables_->text_bytes += heap_bytes(*text);
  return is_new;
}

void SetValue::copy_members(const SetValue& from) {
  assert(size() == 0 && !is_large());
  if (!from.is_large()) {
    packed_ = PackedIntegers(from.packed_);
    return;
  }
  auto tables = std::make_unique<Tables>(seed_);
  tables->integers.copy_from(from.tables_->integers);
  tables->texts.copy_from(from.tables_->texts);
  tables->texts.for_each([&](const std::string& text) { tables->text_bytes += heap_bytes(text); });
  tables_ = std::move(tables);
}

std::optional<std::string> SetValue::take_text(std::string_view member) {
  std::string taken;
  if (!is_large() || !tables_->texts.take(member, &taken)) return std::nullopt;
  tables_->text_bytes -= heap_bytes(taken);
  return taken;
}

void SetValue::put_back(std::string text) {
  tables_->text_bytes += heap_bytes(tables_->texts.insert(std::move(text)));
}

const SetRecords& SetValue::no_records() {
  static const SetRecords kNone;
  return kNone;
}

PackedIntegers SetValue::grow() {
  auto tables = std::make_unique<Tables>(seed_);
  tables->integers.insert_missing(packed_.members(), [](auto...) { return true; });
  tables_ = std::move(tables);
  return std::exchange(packed_, {});
}

void SetValue::roll_back(PackedIntegers packed) {
  packed_ = std::move(packed);
  tables_.reset();
}

void SetValue::pack(const EncodingLimits& limits) {
  if (!is_large() || !tables_->texts.empty()) return;
  if (static_cast<std::int64_t>(tables_->integers.size()) > limits.set_integers) return;
  PackedIntegers packed;
  tables_->integers.for_each([&](std::int64_t member) { packed.insert(member); });
  roll_back(std::move(packed));
}

std::string SetValue::draw(Random& random) const {
  const std::uint64_t index = random.below(size());
  if (!is_large()) return std::string(DecimalText(packed_.members()[index]).view());
  if (index >= tables_->integers.size()) return tables_->texts.draw(random);
  return std::string(DecimalText(tables_->integers.draw(random)).view());
}

}  // namespace rushgate
