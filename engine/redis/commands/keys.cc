// Commands on keys of any type: https://redis.io/docs/latest/commands/?group=generic
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/glob.h"
#include "engine/redis/commands/stream_errors.h"
#include "engine/redis/keyspace/copies.h"

namespace rushgate {
namespace {

/// Renames a key. Returns the reply if it was not renamed; else empty.
std::optional<Reply> rename(CommandContext& context, bool only_if_absent) {
  Database& db = context.db();
  Object* const object = db.find(context[1]);
  if (object == nullptr) return errors::no_such_key();
  if (context[1] == context[2]) return only_if_absent ? Reply::integer(0) : Reply::ok();
  if (Object* const replaced = db.find(context[2])) {
    if (only_if_absent) return Reply::integer(0);
    context.keyspace().note_change(context[1]);  // in Redis's order
    db.remove(*replaced);
  }
  db.move(*object, db, context[2]);
  context.notify(kGenericEvents, "rename_from", context[1]);
  context.notify(kGenericEvents, "rename_to", context[2]);
  return std::nullopt;
}

Reply del_command(CommandContext& context) {
  std::int64_t removed = 0;
  for (std::size_t i = 1; i < context.size(); ++i) {
    Object* object = context.db().find(context[i]);
    if (object == nullptr) continue;
    context.db().remove(*object);
    context.notify(kGenericEvents, "del", context[i]);
    ++removed;
  }
  return Reply::integer(removed);
}

/// A repeated key counts repeatedly.
Reply exists_command(CommandContext& context) {
  std::int64_t found = 0;
  for (const std::string_view key : context.request().subspan(1)) {
    if (context.db().peek(key) != nullptr) ++found;
  }
  return Reply::integer(found);
}

Reply type_command(CommandContext& context) {
  const Object* object = context.db().peek(context[1]);
  return Reply::status(object == nullptr ? "none" : std::string(type_name(object->type())));
}

/// As in Redis, also after CLIENT NO-TOUCH. A repeated key counts repeatedly.
Reply touch_command(CommandContext& context) {
  std::int64_t found = 0;
  for (const std::string_view key : context.request().subspan(1)) {
    Object* const object = context.db().peek(key);
    if (object == nullptr) continue;
    context.keyspace().set_last_use(*object, 0);
    ++found;
  }
  return Reply::integer(found);
}

Reply keys_command(CommandContext& context) {
  const std::string_view pattern = context[1];
  std::vector<Reply> keys;
  context.db().for_each([&](const Object& object) {
    if (context.db().has_expired(object)) return;
    if (pattern == "*" || glob_matches(pattern, object.key()))
      keys.push_back(Reply::bulk(object.key()));
  });
  return Reply::array(std::move(keys));
}

Reply randomkey_command(CommandContext& context) {
  // While expired keys are kept, others may be rare: an expired one is the reply then, as of Redis
  // 7.2.
  constexpr int kKeptMax = 100;
  Database& db = context.db();
  int kept = 0;
  while (db.size() > 0) {
    Object& drawn = db.draw(context.keyspace().random());
    if (!db.has_expired(drawn) || kept == kKeptMax) return Reply::bulk(drawn.key());
    kept += context.keyspace().keeps_expired() ? 1 : 0;
    static_cast<void>(db.outlives_expiry(drawn));
  }
  return Reply::nil();
}

Reply rename_command(CommandContext& context) {
  return rename(context, false).value_or(Reply::ok());
}

Reply renamenx_command(CommandContext& context) {
  return rename(context, true).value_or(Reply::integer(1));
}

Reply move_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  Database& to = context.keyspace().db(arguments.next_database());
  if (!arguments.ok()) return arguments.take_error();
  if (&to == &context.db()) return errors::same_object();
  Object* const object = context.db().find(context[1]);
  if (object == nullptr || to.find(context[1]) != nullptr) return Reply::integer(0);
  context.db().move(*object, to, context[1]);
  context.notify(kGenericEvents, "move_from", context[1]);
  context.keyspace().events().note(kGenericEvents, "move_to", to.number(), context[1]);
  return Reply::integer(1);
}

Reply copy_command(CommandContext& context) {
  Arguments arguments(context.request(), 3);
  Database* to = &context.db();
  bool replace = false;
  while (!arguments.at_end()) {
    if (arguments.accept("REPLACE")) {
      replace = true;
    } else if (arguments.left() >= 2 && arguments.accept("DB")) {
      to = &context.keyspace().db(arguments.next_database());
    } else {
      arguments.fail(errors::syntax());
    }
  }
  if (!arguments.ok()) return arguments.take_error();
  if (to == &context.db() && context[1] == context[2]) return errors::same_object();

  Object* const object = context.db().find(context[1]);
  if (object == nullptr) return Reply::integer(0);
  Object* const replaced = to->find(context[2]);
  if (replaced != nullptr && !replace) return Reply::integer(0);
  const Changes::Savepoint before = context.keyspace().changes().savepoint();
  if (replaced != nullptr) to->remove(*replaced);
  const absl::Status copied = copy_object(*object, *to, context[2]);
  if (copied.ok()) {
    context.keyspace().events().note(kGenericEvents, "copy_to", to->number(), context[2]);
    return Reply::integer(1);
  }
  context.keyspace().changes().roll_back_to(before);
  return errors::store_failed(copied);
}

// ---- The records ----

constexpr CommandSpec kKeyCommands[] = {
    {.name = "del",
     .function = del_command,
     .arity = -2,
     .flags = kWrite,
     .syntax = "key [key ...]",
     .summary = "Removes keys.",
     .since = "1.0.0",
     .complexity = "O(N), N keys and elements of their values"},
    {.name = "unlink",
     .function = del_command,
     .arity = -2,
     .flags = kWrite | kFast,
     .syntax = "key [key ...]",
     .summary = "Removes keys, as DEL does.",
     .since = "4.0.0",
     .complexity = "O(N), N keys"},
    {.name = "exists",
     .function = exists_command,
     .arity = -2,
     .flags = kReadOnly | kFast,
     .syntax = "key [key ...]",
     .summary = "Counts the existing ones of the keys.",
     .since = "1.0.0",
     .complexity = "O(N), N keys"},
    {.name = "type",
     .function = type_command,
     .arity = 2,
     .flags = kReadOnly | kFast,
     .syntax = "key",
     .summary = "Returns the type of a value.",
     .since = "1.0.0",
     .complexity = "O(1)"},
    {.name = "touch",
     .function = touch_command,
     .arity = -2,
     .flags = kReadOnly | kFast,
     .syntax = "key [key ...]",
     .summary = "Counts the existing ones of the keys, and updates their time of use.",
     .since = "3.2.1",
     .complexity = "O(N), N keys"},
    {.name = "keys",
     .function = keys_command,
     .arity = 2,
     .flags = kReadOnly | kAclDangerous,
     .syntax = "pattern",
     .summary = "Returns all keys that match a pattern.",
     .since = "1.0.0",
     .complexity = "O(N), N keys of the database"},
    {.name = "randomkey",
     .function = randomkey_command,
     .arity = 1,
     .flags = kReadOnly,
     .summary = "Returns a random key.",
     .since = "1.0.0",
     .complexity = "O(1)"},
    {.name = "rename",
     .function = rename_command,
     .arity = 3,
     .flags = kWrite,
     .syntax = "key newkey",
     .summary = "Renames a key, and overwrites the new name.",
     .since = "1.0.0",
     .complexity = "O(1)"},
    {.name = "renamenx",
     .function = renamenx_command,
     .arity = 3,
     .flags = kWrite | kFast,
     .syntax = "key newkey",
     .summary = "Renames a key, unless the new name exists.",
     .since = "1.0.0",
     .complexity = "O(1)"},
    {.name = "move",
     .function = move_command,
     .arity = 3,
     .flags = kWrite | kFast,
     .syntax = "key db",
     .summary = "Moves a key to another database.",
     .since = "1.0.0",
     .complexity = "O(1)"},
    {.name = "copy",
     .function = copy_command,
     .arity = -3,
     .flags = kWrite | kDenyOom,
     .syntax = "source destination [DB destination-db] [REPLACE]",
     .summary = "Copies a value to another key.",
     .since = "6.2.0",
     .complexity = "O(N), N elements"},
};

}  // namespace

CommandFamily key_commands() { return {CommandGroup::kGeneric, kKeyCommands}; }

}  // namespace rushgate
