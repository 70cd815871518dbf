// Commands on integers inside strings: https://redis.io/docs/latest/commands/bitfield/
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
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

namespace rushgate {
namespace {

// ---- Integers of a type ----

/// The type of an integer: "i16" has a sign and 16 bits, "u8" no sign and 8 bits.
struct IntegerType {
  bool is_signed;
  unsigned bits;  // at most 64, without sign 63

  [[nodiscard]] std::int64_t min() const { return is_signed ? -max() - 1 : 0; }
  [[nodiscard]] std::int64_t max() const {
    const unsigned digits = is_signed ? bits - 1 : bits;
    return static_cast<std::int64_t>((std::uint64_t{1} << digits) - 1);
  }
  /// Returns the integer that has the lowest bits of `value`.
  [[nodiscard]] std::int64_t wrap(std::uint64_t value) const {
    const unsigned unused = 64 - bits;
    value <<= unused;
    return is_signed ? static_cast<std::int64_t>(value) >> unused
                     : static_cast<std::int64_t>(value >> unused);
  }
};

std::optional<IntegerType> parse_type(std::string_view text) {
  text = errors::as_c_string(text);
  if (!text.starts_with('i') && !text.starts_with('u')) return std::nullopt;
  const bool is_signed = text.front() == 'i';
  const auto bits = parse_int64(text.substr(1));
  if (!bits || *bits < 1 || *bits > (is_signed ? 64 : 63)) return std::nullopt;
  return IntegerType{is_signed, static_cast<unsigned>(*bits)};
}

/// An integer to be written.
struct NewInteger {
  std::uint64_t bits;  // modulo 2^64
  bool fits;           // into its type
  bool is_above;       // if it does not fit: it is too large, otherwise too small
};

/// Converts an integer to a type.
NewInteger converted(const IntegerType& type, std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  const std::uint64_t distance = static_cast<std::uint64_t>(type.max()) - bits;
  // As in Redis, a negative value is too large for a type without sign. It is also too large for a
  // type with sign if its distance to the maximum overflows.
  return {.bits = bits,
          .fits = value >= type.min() && value <= type.max(),
          .is_above = !type.is_signed || static_cast<std::int64_t>(distance) < 0};
}

/// Adds to an integer of a type.
NewInteger incremented(const IntegerType& type, std::int64_t value, std::int64_t increment) {
  const auto sum = checked_add(value, increment);
  return {.bits = static_cast<std::uint64_t>(value) + static_cast<std::uint64_t>(increment),
          .fits = sum && *sum >= type.min() && *sum <= type.max(),
          .is_above = increment > 0};
}

// ---- Operations ----

enum class Overflow : std::uint8_t { kWrap, kSaturate, kFail };

struct FieldOperation {
  enum class Kind : std::uint8_t { kGet, kSet, kIncrement };

  Kind kind = Kind::kGet;
  IntegerType type = {};
  std::uint64_t offset = 0;
  std::int64_t operand = 0;  // of kSet and kIncrement
  Overflow overflow = Overflow::kWrap;

  /// Returns the size of the shortest string that has all bits of the integer.
  [[nodiscard]] std::size_t size_bytes() const { return (offset + type.bits - 1) / kByteBits + 1; }

  [[nodiscard]] std::int64_t read(std::string_view bytes) const {
    return type.wrap(read_bits(bytes, offset, type.bits));
  }

  /// Returns the integer that replaces `old`; empty if it would overflow and must not.
  [[nodiscard]] std::optional<std::int64_t> replacement(std::int64_t old) const {
    const NewInteger integer =
        kind == Kind::kSet ? converted(type, operand) : incremented(type, old, operand);
    if (integer.fits || overflow == Overflow::kWrap) return type.wrap(integer.bits);
    if (overflow == Overflow::kFail) return std::nullopt;
    return integer.is_above ? type.max() : type.min();
  }
};

Overflow next_overflow(Arguments& arguments) {
  if (arguments.accept("WRAP")) return Overflow::kWrap;
  if (arguments.accept("SAT")) return Overflow::kSaturate;
  if (!arguments.accept("FAIL")) arguments.fail(errors::invalid_overflow());
  return Overflow::kFail;
}

FieldOperation::Kind next_kind(Arguments& arguments) {
  if (arguments.left() > 2 && arguments.accept("GET")) return FieldOperation::Kind::kGet;
  if (arguments.left() > 3 && arguments.accept("SET")) return FieldOperation::Kind::kSet;
  if (arguments.left() <= 3 || !arguments.accept("INCRBY")) arguments.fail(errors::syntax());
  return FieldOperation::Kind::kIncrement;
}

FieldOperation next_operation(Arguments& arguments, Overflow overflow, std::size_t bytes_max) {
  FieldOperation operation = {.kind = next_kind(arguments), .overflow = overflow};
  const auto type = parse_type(arguments.next());
  if (!type) {
    arguments.fail(errors::invalid_bitfield_type());
    return operation;
  }
  operation.type = *type;
  const auto offset = parse_bit_offset(arguments.next(), bytes_max, type->bits);
  if (!offset) arguments.fail(errors::invalid_bit_offset());
  operation.offset = offset.value_or(0);
  if (operation.kind != FieldOperation::Kind::kGet) operation.operand = arguments.next_integer();
  return operation;
}

std::vector<FieldOperation> read_operations(Arguments& arguments, std::size_t bytes_max) {
  std::vector<FieldOperation> operations;
  Overflow overflow = Overflow::kWrap;
  while (!arguments.at_end()) {
    if (arguments.left() > 1 && arguments.accept("OVERFLOW")) {
      overflow = next_overflow(arguments);
    } else {
      operations.push_back(next_operation(arguments, overflow, bytes_max));
    }
  }
  return operations;
}

/// Returns the size of the shortest string to which all operations can write; 0 if none writes.
std::size_t size_for_writes(const std::vector<FieldOperation>& operations) {
  std::size_t size = 0;
  for (const FieldOperation& operation : operations) {
    if (operation.kind != FieldOperation::Kind::kGet) size = std::max(size, operation.size_bytes());
  }
  return size;
}

// ---- BITFIELD, BITFIELD_RO ----

/// Runs operations on a string, which must be long enough for the operations that write. Without
/// these, it may be null: missing. `grew` is true if it has grown for them.
Reply run_operations(CommandContext& context, Object* object, bool grew,
                     const std::vector<FieldOperation>& operations) {
  std::vector<Reply> replies;
  replies.reserve(operations.size());
  bool is_changed = false;
  for (const FieldOperation& operation : operations) {
    const std::int64_t old = operation.read(BitmapBytes(object).view());
    if (operation.kind == FieldOperation::Kind::kGet) {
      replies.push_back(Reply::integer(old));
      continue;
    }
    const auto value = operation.replacement(old);
    if (!value) {
      replies.push_back(Reply::nil());
      continue;
    }
    const auto bits = static_cast<std::uint64_t>(*value);
    if (*value != old)
      write_bits(context.db(), *object, operation.offset, operation.type.bits, bits);
    is_changed |= grew || *value != old;
    const bool returns_old = operation.kind == FieldOperation::Kind::kSet;
    replies.push_back(Reply::integer(returns_old ? old : *value));
  }
  if (is_changed) context.notify(kStringEvents, "setbit", context[1]);
  return Reply::array(std::move(replies));
}

Reply run_bitfield(CommandContext& context, bool may_write) {
  Arguments arguments(context.request(), 2);
  const std::vector<FieldOperation> operations =
      read_operations(arguments, context.string_bytes_max());
  if (!arguments.ok()) return arguments.take_error();
  const std::size_t size = size_for_writes(operations);
  if (size != 0 && !may_write) return errors::bitfield_reads_only();
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kString, object)) return errors::wrong_type();
  // find() publishes a miss only for commands that never write.
  if (object == nullptr && size == 0 && may_write)
    context.notify(kMissEvents, "keymiss", context[1]);
  const bool grew = size != 0 && make_bitmap(context.db(), context[1], object, size);
  return run_operations(context, object, grew, operations);
}

Reply bitfield_command(CommandContext& context) { return run_bitfield(context, true); }

Reply bitfield_ro_command(CommandContext& context) { return run_bitfield(context, false); }

// ---- The records ----

/// BITFIELD only reads if all its operations are GET.
unsigned bitfield_key_flags(RequestView request) {
  for (std::size_t i = 2; i < request.size(); ++i) {
    const std::size_t left = request.size() - i - 1;
    if (left >= 2 && is_keyword(request[i], "GET")) {
      i += 2;
    } else if (left >= 1 && is_keyword(request[i], "OVERFLOW")) {
      i += 1;
    } else {
      return key_specs::kRW | key_specs::kAccess | key_specs::kUpdate;
    }
  }
  return key_specs::kRO | key_specs::kAccess;
}

constexpr CommandSpec kBitfieldCommands[] = {
    {.name = "bitfield",
     .function = bitfield_command,
     .arity = -2,
     .flags = kWrite | kDenyOom,
     .key_flags = bitfield_key_flags,
     .syntax = "key [<GET encoding offset | [OVERFLOW <WRAP | SAT | FAIL>] <SET encoding offset "
               "value | INCRBY encoding offset increment>> [<GET encoding offset | [OVERFLOW "
               "<WRAP | SAT | FAIL>] <SET encoding offset value | INCRBY encoding offset "
               "increment>> ...]]",
     .summary = "Reads, sets and increments integers of any number of bits.",
     .since = "3.2.0",
     .complexity = "O(N), N operations"},
    {.name = "bitfield_ro",
     .function = bitfield_ro_command,
     .arity = -2,
     .flags = kReadOnly | kFast,
     .syntax = "key [GET encoding offset [GET encoding offset ...]]",
     .summary = "Reads integers of any number of bits.",
     .since = "6.0.0",
     .complexity = "O(N), N operations"},
};

}  // namespace

CommandFamily bitfield_commands() { return {CommandGroup::kBitmap, kBitfieldCommands}; }

}  // namespace rushgate
