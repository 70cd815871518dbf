// Commands on parts of strings: https://redis.io/docs/latest/commands/?group=string
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "engine/commands/arguments.h"
#include "engine/commands/command_context.h"
#include "engine/commands/command_functions.h"
#include "engine/commands/errors.h"
#include "engine/commands/limits.h"
#include "engine/keyspace/strings.h"

namespace rushgate {
namespace {

/// Returns true if a string of `size` bytes is too long after adding more.
bool is_too_long(std::uint64_t size, std::size_t added) {
  return added > kStringBytesMax || size > kStringBytesMax - added;
}

Reply size_reply(const Object& object) {
  return Reply::integer(static_cast<std::int64_t>(std::get<StringValue>(object.value).size()));
}

}  // namespace

// STRLEN key
Reply strlen_command(CommandContext& context) {
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kString, object)) return errors::wrong_type();
  return object == nullptr ? Reply::integer(0) : size_reply(*object);
}

// APPEND key value
Reply append_command(CommandContext& context) {
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kString, object)) return errors::wrong_type();
  const std::size_t size = object == nullptr ? 0 : object->string().size();
  if (is_too_long(size, context[2].size())) return errors::string_too_long();
  if (object == nullptr) {
    object = &context.db().create(context[1], StringValue(context[2]));
  } else {
    strings::overwrite(context.db(), *object, size, context[2]);
  }
  return size_reply(*object);
}

// SETRANGE key offset value
Reply setrange_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  const std::int64_t offset = arguments.next_integer();
  if (!arguments.ok()) return arguments.take_error();
  if (offset < 0) return errors::negative_offset();
  const std::string_view bytes = context[3];

  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kString, object)) return errors::wrong_type();
  if (bytes.empty()) return object == nullptr ? Reply::integer(0) : size_reply(*object);
  if (is_too_long(static_cast<std::uint64_t>(offset), bytes.size()))
    return errors::string_too_long();
  if (object == nullptr) object = &context.db().create(context[1], StringValue::as_buffer({}));
  strings::overwrite(context.db(), *object, static_cast<std::size_t>(offset), bytes);
  return size_reply(*object);
}

// GETRANGE key start end
// SUBSTR key start end
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

}  // namespace rushgate
