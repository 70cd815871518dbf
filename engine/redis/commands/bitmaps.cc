// Commands on the bits of strings: https://redis.io/docs/latest/commands/?group=bitmap
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/core/base/bits.h"
#include "engine/core/base/numbers.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/bitmap_errors.h"
#include "engine/redis/commands/bitmap_values.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/keyspace/strings.h"

namespace rushgate {
namespace {

// ---- SETBIT, GETBIT ----

Reply setbit_command(CommandContext& context) {
  const auto offset = parse_bit_offset(context[2], context.string_bytes_max());
  if (!offset) return errors::invalid_bit_offset();
  const auto number = parse_int64(context[3]);
  if (number != 0 && number != 1) return errors::invalid_bit();
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kString, object)) return errors::wrong_type();

  const bool bit = number == 1;
  const bool grew = make_bitmap(context.db(), context[1], object, *offset / kByteBits + 1);
  const bool old = bit_at(object->string().text(), *offset);
  if (bit != old) write_bits(context.db(), *object, *offset, 1, bit ? 1 : 0);
  if (bit != old || grew) context.notify(kStringEvents, "setbit", context[1]);
  return Reply::integer(old ? 1 : 0);
}

Reply getbit_command(CommandContext& context) {
  const auto offset = parse_bit_offset(context[2], context.string_bytes_max());
  if (!offset) return errors::invalid_bit_offset();
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kString, object)) return errors::wrong_type();
  return Reply::integer(bit_at(BitmapBytes(object).view(), *offset) ? 1 : 0);
}

// ---- BITCOUNT, BITPOS ----

enum class BitmapUnit : std::uint8_t { kByte, kBit };

/// Reads the optional rest `BYTE | BIT`.
BitmapUnit rest_as_unit(Arguments& arguments) {
  if (arguments.at_end() || arguments.accept("BYTE")) return BitmapUnit::kByte;
  if (!arguments.accept("BIT")) arguments.fail(errors::syntax());
  return BitmapUnit::kBit;
}

/// Returns the range of bits from one position to another, both included. Negative positions count
/// from the end.
BitRange to_bits(std::int64_t first, std::int64_t last, BitmapUnit unit, std::size_t size_bytes) {
  const std::uint64_t unit_bits = unit == BitmapUnit::kBit ? 1 : kByteBits;
  const auto size = static_cast<std::int64_t>(size_bytes * kByteBits / unit_bits);
  if (first < 0) first = std::max(first + size, std::int64_t{0});
  if (last < 0) last = std::max(last + size, std::int64_t{0});
  last = std::min(last, size - 1);
  if (first > last) return {0, 0};
  return {static_cast<std::uint64_t>(first) * unit_bits,
          static_cast<std::uint64_t>(last + 1) * unit_bits};
}

Reply bitcount_command(CommandContext& context) {
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kString, object)) return errors::wrong_type();
  if (object == nullptr) return Reply::integer(0);
  const bool has_range = context.size() == 4 || context.size() == 5;
  if (!has_range && context.size() != 2) return errors::syntax();

  Arguments arguments(context.request(), 2);
  const std::int64_t first = has_range ? arguments.next_integer() : 0;
  const std::int64_t last = has_range ? arguments.next_integer() : -1;
  if (arguments.ok() && first < 0 && last < 0 && first > last) return Reply::integer(0);
  const BitmapUnit unit = rest_as_unit(arguments);
  if (!arguments.ok()) return arguments.take_error();
  const BitmapBytes bytes(object);
  const std::uint64_t count =
      count_bits(bytes.view(), to_bits(first, last, unit, bytes.view().size()));
  return Reply::integer(static_cast<std::int64_t>(count));
}

Reply bitpos_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  const std::int64_t number = arguments.next_integer();
  if (number != 0 && number != 1) arguments.fail(errors::not_a_bit());
  if (!arguments.ok()) return arguments.take_error();
  const bool bit = number == 1;
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kString, object)) return errors::wrong_type();
  if (object == nullptr) return Reply::integer(bit ? -1 : 0);
  if (context.size() > 6) return errors::syntax();

  const bool has_end = context.size() > 4;
  const std::int64_t first = arguments.at_end() ? 0 : arguments.next_integer();
  const std::string_view end = has_end ? arguments.next() : "-1";
  const BitmapUnit unit = rest_as_unit(arguments);
  const std::int64_t last = arguments.to_integer(end);
  if (!arguments.ok()) return arguments.take_error();
  const BitmapBytes bytes(object);
  const BitRange range = to_bits(first, last, unit, bytes.view().size());
  if (const auto position = find_bit(bytes.view(), range, bit))
    return Reply::integer(static_cast<std::int64_t>(*position));
  // Zeros follow the string, but not a range with an end.
  const bool is_after = !bit && !has_end && !range.empty();
  return Reply::integer(is_after ? static_cast<std::int64_t>(range.end) : -1);
}

// ---- BITOP ----

/// Combines each byte of `result` with the byte of `source` at its place. Zeros follow `source`.
template <class Operation>
void combine(std::string& result, std::string_view source) {
  constexpr Operation kOperation;
  std::size_t at = 0;
  for (std::uint64_t a = 0, b = 0; source.size() - at >= sizeof a; at += sizeof a) {
    std::memcpy(&a, result.data() + at, sizeof a);
    std::memcpy(&b, source.data() + at, sizeof b);
    a = kOperation(a, b);
    std::memcpy(result.data() + at, &a, sizeof a);
  }
  for (; at < source.size(); ++at)
    result[at] = static_cast<char>(kOperation(result[at], source[at]));
  if (std::is_same_v<Operation, std::bit_and<>>)
    std::memset(result.data() + at, 0, result.size() - at);
}

struct BitOperation {
  std::string_view keyword;
  char initial;  // each byte of the result, before the sources are combined with it
  void (*combine)(std::string& result, std::string_view source);
  bool takes_one_key = false;
};

constexpr char kOnes = '\xff';
constexpr BitOperation kBitOperations[] = {
    {"AND", kOnes, combine<std::bit_and<>>},
    {"OR", 0, combine<std::bit_or<>>},
    {"XOR", 0, combine<std::bit_xor<>>},
    {"NOT", kOnes, combine<std::bit_xor<>>, true},
};

/// Returns the result, which is as long as the longest source. Missing sources are null.
std::string combined(const BitOperation& operation, const std::vector<const Object*>& sources) {
  std::size_t size = 0;
  for (const Object* const source : sources)
    size = std::max(size, BitmapBytes(source).view().size());
  std::string result(size, operation.initial);
  for (const Object* const source : sources) operation.combine(result, BitmapBytes(source).view());
  return result;
}

Reply bitop_command(CommandContext& context) {
  const auto* const operation = std::ranges::find_if(
      kBitOperations,
      [&](const BitOperation& other) { return is_keyword(context[1], other.keyword); });
  if (operation == std::end(kBitOperations)) return errors::syntax();
  if (operation->takes_one_key && context.size() != 4) return errors::not_takes_one_key();
  std::vector<const Object*> sources;
  sources.reserve(context.size() - 3);
  for (std::size_t i = 3; i < context.size(); ++i) {
    Object* source = nullptr;
    if (!context.find(context[i], ValueType::kString, source)) return errors::wrong_type();
    if (source == nullptr) context.notify(kMissEvents, "keymiss", context[i]);
    sources.push_back(source);
  }

  std::string result = combined(*operation, sources);
  const auto size = static_cast<std::int64_t>(result.size());
  const std::string_view target = context[2];
  if (size != 0) {
    strings::set(context.db(), target, StringValue::as_buffer(std::move(result)));
    context.notify(kStringEvents, "set", target);
  } else if (Object* const old = context.db().find(target)) {
    context.db().remove(*old);
    context.notify(kGenericEvents, "del", target);
  }
  return Reply::integer(size);
}

// ---- The records ----

constexpr CommandSpec kBitmapCommands[] = {
    {.name = "setbit",
     .function = setbit_command,
     .arity = 4,
     .flags = kWrite | kDenyOom,
     .syntax = "key offset value",
     .summary = "Sets or clears a bit and returns its old value.",
     .since = "2.2.0",
     .complexity = "O(1)"},
    {.name = "getbit",
     .function = getbit_command,
     .arity = 3,
     .flags = kReadOnly | kFast,
     .syntax = "key offset",
     .summary = "Returns a bit.",
     .since = "2.2.0",
     .complexity = "O(1)"},
    {.name = "bitcount",
     .function = bitcount_command,
     .arity = -2,
     .flags = kReadOnly,
     .syntax = "key [start end [BYTE | BIT]]",
     .summary = "Counts the set bits of a string or of a part of it.",
     .since = "2.6.0",
     .complexity = "O(N), N bytes of the range"},
    {.name = "bitpos",
     .function = bitpos_command,
     .arity = -3,
     .flags = kReadOnly,
     .syntax = "key bit [start [end [BYTE | BIT]]]",
     .summary = "Returns the position of the first set or clear bit.",
     .since = "2.8.7",
     .complexity = "O(N), N bytes of the range"},
    {.name = "bitop",
     .function = bitop_command,
     .arity = -4,
     .flags = kWrite | kDenyOom,
     .syntax = "operation destination key [key ...]",
     .summary = "Combines strings bit by bit (AND, OR, XOR, NOT) and stores the result.",
     .since = "2.6.0",
     .complexity = "O(N), N bytes of all strings"},
};

}  // namespace

CommandFamily bitmap_commands() { return {CommandGroup::kBitmap, kBitmapCommands}; }

}  // namespace rushgate
