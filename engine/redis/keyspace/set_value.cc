#include "engine/redis/keyspace/set_value.h"

#include <cassert>
#include <utility>

namespace rushgate {

bool SetValue::contains(const MaybeInteger& member) const {
  if (!has_tables()) {
    if (is_large()) return members().contains(member.text());
    return member.is_integer() && integers().contains(member.integer());
  }
  return member.is_integer() ? tables().integers.contains(member.integer())
                             : tables().texts.contains(member.text());
}

// ---- Changes ----

bool SetValue::insert(const MaybeInteger& member, const EncodingLimits& limits,
                      std::uint64_t seed) {
  if (outgrows(limits, member)) static_cast<void>(grow(member, seed));
  return member.is_integer() ? insert_integer(member.integer()) : insert_text(member.text());
}

bool SetValue::insert_integer(std::int64_t member) {
  if (has_tables())
    return tables().integers.find_or_insert(member, [member] { return member; }).second;
  return is_large() ? members().insert(DecimalText(member).view()) : integers().insert(member);
}

bool SetValue::Tables::insert_text(std::string_view member) {
  const auto [text, is_new] =
      texts.find_or_insert(member, [member] { return std::string(member); });
  if (is_new) text_bytes += heap_bytes(*text);
  return is_new;
}

std::optional<std::string> SetValue::Tables::take_text(std::string_view member) {
  std::string taken;
  if (!texts.take(member, &taken)) return std::nullopt;
  text_bytes -= heap_bytes(taken);
  return taken;
}

bool SetValue::insert_text(std::string_view member) {
  return has_tables() ? tables().insert_text(member) : members().insert(member);
}

void SetValue::copy_members(const SetValue& from) {
  assert(size() == 0);
  if (from.has_tables()) {
    auto made = std::make_unique<Tables>(0);  // replaced with the tables
    made->integers.copy_from(from.tables().integers);
    made->texts.copy_from(from.tables().texts);
    made->text_bytes = from.tables().text_bytes;
    form_ = std::move(made);
  } else if (from.is_large()) {
    PackedMembers made;
    from.members().for_each([&](std::string_view member) { made.insert(member); });
    form_ = std::move(made);
  } else {
    form_ = PackedIntegers(from.integers());
  }
}

bool SetValue::erase_integer(std::int64_t member) {
  if (has_tables()) return tables().integers.erase(member);
  return is_large() ? members().erase(DecimalText(member).view()) : integers().erase(member);
}

bool SetValue::erase_text(std::string_view member) {
  if (has_tables()) return tables().take_text(member).has_value();
  return is_large() && members().erase(member);
}

std::optional<std::string> SetValue::take_text(std::string_view member) {
  if (has_tables()) return tables().take_text(member);
  std::string taken(member);
  if (!erase_text(member)) return std::nullopt;
  return taken;
}

void SetValue::put_back(std::string text) {
  if (has_tables()) {
    tables().text_bytes += heap_bytes(tables().texts.insert(std::move(text)));
  } else {
    members().insert(text);
  }
}

// ---- The form ----

bool SetValue::outgrows(const EncodingLimits& limits, const MaybeInteger& member) const {
  if (has_tables()) return false;
  if (is_large()) return !members().has_space_for(member.text()) && !contains(member);
  return !member.is_integer() || (!has_space_for_integers(limits, 1) && !contains(member));
}

bool SetValue::has_space_for_integers(const EncodingLimits& limits, std::size_t more) const {
  if (has_tables()) return true;
  if (is_large()) return size() + more <= PackedMembers::kMembersMax;
  return static_cast<std::int64_t>(size() + more) <= limits.set_integers;
}

/// Moves a packed form out, before another one replaces it.
SetValue::Packed SetValue::take_packed() {
  if (is_large()) return std::move(members());
  return std::move(integers());
}

SetValue::Packed SetValue::grow(const MaybeInteger& member, std::uint64_t seed) {
  const bool has_few = !is_large() && size() < PackedMembers::kMembersMax;
  if (!has_few || member.text().size() > PackedMembers::kMemberBytesMax) return make_tables(seed);
  PackedMembers made;
  for_each([&](std::string_view text) { made.insert(text); });
  Packed packed = take_packed();
  form_ = std::move(made);
  return packed;
}

SetValue::Packed SetValue::make_tables(std::uint64_t seed) {
  auto made = std::make_unique<Tables>(seed);
  if (is_large()) {
    for_each_integer([&](std::int64_t member) { made->integers.insert(member); });
    for_each_text([&](std::string_view member) { made->insert_text(member); });
  } else {
    made->integers.insert_missing(integers().members(), [](auto...) { return true; });
  }
  Packed packed = take_packed();
  form_ = std::move(made);
  return packed;
}

void SetValue::roll_back(Packed packed) {
  std::visit([&](auto& form) { form_ = std::move(form); }, packed);
}

void SetValue::pack(const EncodingLimits& limits) {
  if (!is_large()) return;
  bool has_texts = false;
  bool has_space = size() <= PackedMembers::kMembersMax;
  for_each_text([&](std::string_view member) {
    has_texts = true;
    has_space = has_space && member.size() <= PackedMembers::kMemberBytesMax;
  });
  if (!has_texts && static_cast<std::int64_t>(size()) <= limits.set_integers) {
    PackedIntegers packed;
    for_each_integer([&](std::int64_t member) { packed.insert(member); });
    form_ = std::move(packed);
  } else if (has_space && has_tables()) {
    PackedMembers packed;
    for_each([&](std::string_view member) { packed.insert(member); });
    form_ = std::move(packed);
  }
}

// ---- Reading ----

std::string SetValue::draw(Random& random) const {
  const std::uint64_t index = random.below(size());
  if (!has_tables()) {
    return std::string(is_large() ? members().at(index)
                                  : DecimalText(integers().members()[index]).view());
  }
  if (index >= tables().integers.size()) return tables().texts.draw(random);
  return std::string(DecimalText(tables().integers.draw(random)).view());
}

// ---- Memory ----

bool SetValue::wants_to_shrink() const {
  if (has_needless_records()) return true;
  if (has_tables()) return false;
  return is_large() ? members().wants_to_shrink() : integers().wants_to_shrink();
}

void SetValue::shrink() {
  if (has_needless_records()) records_.reset();
  if (has_tables()) return;
  is_large() ? members().shrink() : integers().shrink();
}

const SetRecords& SetValue::no_records() {
  static const SetRecords kNone;
  return kNone;
}

}  // namespace rushgate
