// Reading and setting fields together with their expiries:
// https://redis.io/docs/latest/commands/hsetex/
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/expiry_arguments.h"
#include "engine/redis/commands/field_errors.h"
#include "engine/redis/commands/hash_fields.h"
#include "engine/redis/commands/reply_allowance.h"
#include "engine/redis/keyspace/hashes.h"

namespace rushgate {
namespace {

/// Returns the values of the fields that are left, and calls change(std::string_view field) for each
/// one that exists. A reply that is too large undoes the changes.
template <class Change>
Reply read_fields(CommandContext& context, Object*& hash, Arguments& arguments, Change change) {
  Changes& changes = context.keyspace().changes();
  const Changes::Savepoint before = changes.savepoint();
  std::vector<Reply> values;
  values.reserve(arguments.left());
  ReplyAllowance allowance(context.session().reply_bytes_max);
  while (!arguments.at_end()) {
    const std::string_view field = arguments.next();
    values.push_back(field_reply(hash, field));
    if (!allowance.take(memory_bytes(values.back()))) {
      changes.roll_back_to(before);
      return errors::reply_too_large();
    }
    if (values.back().kind() != Reply::Kind::kNil) change(field);
  }
  return Reply::array(std::move(values));
}

Reply hgetdel_command(CommandContext& context) {
  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();
  Arguments arguments(context.request(), 2);
  expect_fields(arguments, errors::number_of_fields_not_positive());
  if (!arguments.ok()) return arguments.take_error();
  bool has_removed = false;
  Reply reply = read_fields(context, hash, arguments, [&](std::string_view field) {
    has_removed = remove_field(context, hash, field);
  });
  if (has_removed && !reply.is_error()) {
    context.notify(kHashEvents, "hdel", context[1]);
    context.notify_if_removed(context[1]);
  }
  return reply;
}

// ---- HGETEX ----

/// Changes that HGETEX made to the fields.
struct FieldChanges {
  bool has_set = false;
  bool has_persisted = false;
  bool has_removed = false;
};

void notify(CommandContext& context, const FieldChanges& done) {
  if (done.has_persisted) context.notify(kHashEvents, "hpersist", context[1]);
  if (done.has_set) context.notify(kHashEvents, "hexpire", context[1]);
  if (!done.has_removed) return;
  context.notify(kHashEvents, "hdel", context[1]);
  context.notify_if_removed(context[1]);
}

Reply hgetex_command(CommandContext& context) {
  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();
  Arguments arguments(context.request(), 2);
  const std::optional<std::int64_t> expire_at_ms =
      accept_field_expiry(arguments, "hgetex", context.now_ms());
  const bool persists = !expire_at_ms && arguments.accept("PERSIST");
  expect_fields(arguments, errors::number_of_fields_not_positive());
  if (!arguments.ok()) return arguments.take_error();

  FieldChanges done;
  Reply reply = read_fields(context, hash, arguments, [&](std::string_view field) {
    if (expire_at_ms && *expire_at_ms <= context.now_ms()) {
      done.has_removed = remove_field(context, hash, field);
    } else if (expire_at_ms) {
      hashes::set_expiry(context.db(), *hash, field, expire_at_ms);
      done.has_set = true;
    } else if (persists && hash->hash().expiry(field)) {
      hashes::set_expiry(context.db(), *hash, field, std::nullopt);
      done.has_persisted = true;
    }
  });
  if (!reply.is_error()) notify(context, done);
  return reply;
}

// ---- HSETEX ----

struct FieldSetOptions {
  bool only_new = false;       // FNX: only if no field exists
  bool only_existing = false;  // FXX: only if all fields exist
  bool keeps_expiry = false;
  std::optional<std::int64_t> expire_at_ms;
};

/// Reads the options up to FIELDS, which follows them.
FieldSetOptions read_field_set_options(CommandContext& context, Arguments& arguments) {
  FieldSetOptions options;
  while (!arguments.at_end() && !arguments.accept("FIELDS")) {
    const bool has_condition = options.only_new || options.only_existing;
    const bool has_expiry = options.keeps_expiry || options.expire_at_ms.has_value();
    if (arguments.accept("FNX")) {
      if (has_condition) arguments.fail(errors::fnx_excludes_fxx());
      options.only_new = true;
    } else if (arguments.accept("FXX")) {
      if (has_condition) arguments.fail(errors::fnx_excludes_fxx());
      options.only_existing = true;
    } else if (arguments.accept("KEEPTTL")) {
      if (has_expiry) arguments.fail(errors::one_expiry_wanted());
      options.keeps_expiry = true;
    } else if (const auto expiry = accept_field_expiry(arguments, "hsetex", context.now_ms())) {
      if (has_expiry) arguments.fail(errors::one_expiry_wanted());
      options.expire_at_ms = expiry;
    } else {
      arguments.fail(errors::unknown_argument(arguments.next()));
    }
  }
  return options;
}

/// Reads the number of fields, which must be that of the pairs left.
void expect_counted_pairs(Arguments& arguments) {
  if (arguments.left() < 3) arguments.fail(errors::wrong_arity("hsetex"));
  const std::int64_t count = arguments.next_at_least(1, errors::invalid_number_of_fields());
  if (count > std::numeric_limits<int>::max()) arguments.fail(errors::invalid_number_of_fields());
  if (arguments.ok() && 2 * static_cast<std::uint64_t>(count) != arguments.left())
    arguments.fail(errors::wrong_arity("hsetex"));
}

/// Returns the names in pairs of a field and its value.
std::vector<std::string_view> read_names(Arguments pairs) {
  std::vector<std::string_view> names;
  names.reserve(pairs.left() / 2);
  while (!pairs.at_end()) {
    names.push_back(pairs.next());
    pairs.skip(1);
  }
  return names;
}

bool allow(const FieldSetOptions& options, Object* hash,
           const std::vector<std::string_view>& names) {
  const auto exists = [hash](std::string_view field) {
    return hash != nullptr && hash->hash().contains(field);
  };
  if (options.only_new && std::ranges::any_of(names, exists)) return false;
  return !options.only_existing || std::ranges::all_of(names, exists);
}

Reply hsetex_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  const FieldSetOptions options = read_field_set_options(context, arguments);
  expect_counted_pairs(arguments);
  if (!arguments.ok()) return arguments.take_error();
  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();
  const std::vector<std::string_view> names = read_names(arguments);
  if (!allow(options, hash, names)) return Reply::integer(0);

  Database& db = context.db();
  if (hash == nullptr) hash = &hashes::create(db, context[1]);
  const bool keeps_expiry = options.keeps_expiry || options.expire_at_ms;
  while (!arguments.at_end()) {
    const std::string_view field = arguments.next();
    const std::string_view value = arguments.next();
    keeps_expiry ? hashes::set_keeping_expiry(db, *hash, field, value)
                 : hashes::set(db, *hash, field, value);
  }
  context.notify(kHashEvents, "hset", context[1]);
  if (!options.expire_at_ms) return Reply::integer(1);

  const bool removes = *options.expire_at_ms <= context.now_ms();
  for (const std::string_view field : names) {
    if (removes) {
      remove_field(context, hash, field);
    } else {
      hashes::set_expiry(db, *hash, field, options.expire_at_ms);
    }
  }
  context.notify(kHashEvents, removes ? "hdel" : "hexpire", context[1]);
  if (removes) context.notify_if_removed(context[1]);
  return Reply::integer(1);
}

// ---- The records ----

constexpr CommandSpec kExpiringFieldCommands[] = {
    {.name = "hgetdel",
     .function = hgetdel_command,
     .arity = -5,
     .flags = kWrite | kFast,
     .syntax = "key FIELDS numfields field [field ...]",
     .summary = "Returns the values of fields and removes them.",
     .since = "8.0.0",
     .complexity = "O(N), N fields"},
    {.name = "hgetex",
     .function = hgetex_command,
     .arity = -5,
     .flags = kWrite | kFast,
     .syntax = "key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT "
               "unix-time-milliseconds | PERSIST] FIELDS numfields field [field ...]",
     .summary = "Returns the values of fields, and sets or removes their expiry.",
     .since = "8.0.0",
     .complexity = "O(N), N fields"},
    {.name = "hsetex",
     .function = hsetex_command,
     .arity = -6,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key [FNX | FXX] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT "
               "unix-time-milliseconds | KEEPTTL] FIELDS numfields field value [field value ...]",
     .summary = "Sets fields and their expiry.",
     .since = "8.0.0",
     .complexity = "O(N), N fields"},
};

}  // namespace

CommandFamily expiring_field_commands() { return {CommandGroup::kHash, kExpiringFieldCommands}; }

}  // namespace rushgate
