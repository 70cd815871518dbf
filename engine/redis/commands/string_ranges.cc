// Commands on parts of strings: https://redis.io/docs/latest/commands/?group=string
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/keyspace/strings.h"

namespace rushgate {
namespace {

/// Returns true if a string of `size` bytes is too long after adding more.
bool is_too_long(const CommandContext& context, std::uint64_t size, std::size_t added) {
  const std::size_t bytes_max = context.string_bytes_max();
  return added > bytes_max || size > bytes_max - added;
}

Reply size_reply(const Object& object) {
  return Reply::integer(static_cast<std::int64_t>(object.string().size()));
}

Reply strlen_command(CommandContext& context) {
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kString, object)) return errors::wrong_type();
  return object == nullptr ? Reply::integer(0) : size_reply(*object);
}

Reply append_command(CommandContext& context) {
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kString, object)) return errors::wrong_type();
  const std::size_t size = object == nullptr ? 0 : object->string().size();
  if (is_too_long(context, size, context[2].size())) return errors::string_too_long();
  if (object == nullptr) {
    object = &context.db().create(context[1], StringValue(context[2]));
  } else {
    strings::overwrite(context.db(), *object, size, context[2]);
  }
  context.notify(kStringEvents, "append", context[1]);
  return size_reply(*object);
}

Reply setrange_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  const std::int64_t offset = arguments.next_integer();
  if (!arguments.ok()) return arguments.take_error();
  if (offset < 0) return errors::negative_offset();
  const std::string_view bytes = context[3];

  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kString, object)) return errors::wrong_type();
  if (bytes.empty()) return object == nullptr ? Reply::integer(0) : size_reply(*object);
  if (is_too_long(context, static_cast<std::uint64_t>(offset), bytes.size()))
    return errors::string_too_long();
  if (object == nullptr) object = &context.db().create(context[1], StringValue::as_buffer({}));
  strings::overwrite(context.db(), *object, static_cast<std::size_t>(offset), bytes);
  context.notify(kStringEvents, "setrange", context[1]);
  return size_reply(*object);
}

Reply getrange_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  std::int64_t first = arguments.next_integer();
  std::int64_t last = arguments.next_integer();
  if (!arguments.ok()) return arguments.take_error();
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kString, object)) return errors::wrong_type();
  if (object == nullptr || (first < 0 && last < 0 && first > last)) return Reply::bulk("");

  const std::string bytes = object->string().bytes();
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (first < 0) first = std::max(first + size, std::int64_t{0});
  if (last < 0) last = std::max(last + size, std::int64_t{0});
  last = std::min(last, size - 1);
  if (first > last) return Reply::bulk("");
  return Reply::bulk(
      bytes.substr(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first + 1)));
}

// ---- The records ----

constexpr CommandSpec kStringRangeCommands[] = {
    {.name = "strlen",
     .function = strlen_command,
     .arity = 2,
     .flags = kReadOnly | kFast,
     .syntax = "key",
     .summary = "Returns the length of a string.",
     .since = "2.2.0",
     .complexity = "O(1)"},
    {.name = "append",
     .function = append_command,
     .arity = 3,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key value",
     .summary = "Appends to a string.",
     .since = "2.0.0",
     .complexity = "O(1), amortized"},
    {.name = "setrange",
     .function = setrange_command,
     .arity = 4,
     .flags = kWrite | kDenyOom,
     .syntax = "key offset value",
     .summary = "Overwrites a part of a string.",
     .since = "2.2.0",
     .complexity = "O(N), N bytes written"},
    {.name = "getrange",
     .function = getrange_command,
     .arity = 4,
     .flags = kReadOnly,
     .syntax = "key start end",
     .summary = "Returns a part of a string.",
     .since = "2.4.0",
     .complexity = "O(N), N bytes returned"},
    {.name = "substr",
     .function = getrange_command,
     .arity = 4,
     .flags = kReadOnly,
     .syntax = "key start end",
     .summary = "Returns a part of a string.",
     .since = "1.0.0",
     .complexity = "O(N), N bytes returned",
     .deprecated_since = "2.0.0",
     .replaced_by = "GETRANGE"},
};

}  // namespace

CommandFamily string_range_commands() { return {CommandGroup::kString, kStringRangeCommands}; }

}  // namespace rushgate
