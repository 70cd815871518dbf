#include "engine/redis/commands/debug_values.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/heap.h"
#include "engine/core/base/status_macros.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/debug_digest.h"
#include "engine/redis/commands/debug_errors.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/stream_errors.h"
#include "engine/redis/keyspace/encodings.h"
#include "engine/redis/rdb/dump_value.h"
#include "engine/redis/rdb/payload.h"

namespace rushgate {

// ---- Digests ----

Reply debug_digest(CommandContext& context) {
  auto digest = keyspace_digest(context.keyspace());
  return digest.ok() ? Reply::status(*std::move(digest)) : errors::store_failed(digest.status());
}

Reply debug_digest_value(CommandContext& context) {
  std::vector<Reply> digests;
  for (const std::string_view key : context.request().subspan(2)) {
    const Object* const object = context.db().find_stored(key);
    auto digest = object == nullptr ? empty_digest() : value_digest(*object);
    if (!digest.ok()) return errors::store_failed(digest.status());
    digests.push_back(Reply::status(*std::move(digest)));
  }
  return Reply::array(std::move(digests));
}

// ---- Encodings ----

namespace {

/// Returns the bytes of the value in a snapshot.
absl::StatusOr<std::size_t> serialized_bytes(const CommandContext& context, const Object& object) {
  constexpr std::size_t kTypeBytes = 1;
  ASSIGN_OR_RETURN(const std::string payload, rdb::dump(object, context.keyspace().limits(),
                                                        context.session().reply_bytes_max));
  return payload.size() - kTypeBytes - rdb::kSealBytes;
}

}  // namespace

Reply debug_object(CommandContext& context) {
  const Object* const object = context.db().find_stored(context[2]);
  if (object == nullptr) return errors::no_such_key();
  const absl::StatusOr<std::size_t> bytes = serialized_bytes(context, *object);
  if (absl::IsResourceExhausted(bytes.status())) return errors::reply_too_large();
  if (!bytes.ok()) return errors::store_failed(bytes.status());
  return Reply::status(absl::StrFormat(
      "Value at:%p refcount:%d encoding:%s serializedlength:%u lru:%u lru_seconds_idle:%u",
      static_cast<const void*>(object), reference_count(*object),
      std::string(encoding_name(*object)), *bytes, static_cast<std::uint32_t>(object->last_use),
      context.keyspace().use_clock().idle_s(object->last_use)));
}

/// Strings of Redis may have unused bytes at their ends. There are none here.
Reply debug_sdslen(CommandContext& context) {
  const Object* const object = context.db().find_stored(context[2]);
  if (object == nullptr) return errors::no_such_key();
  if (object->type() != ValueType::kString || object->string().is_integer())
    return errors::no_sds();
  const std::size_t key_bytes = object->key().size();
  const std::size_t bytes = object->string().size();
  return Reply::status(absl::StrFormat(
      "key_sds_len:%u, key_sds_avail:0, key_zmalloc: %u, val_sds_len:%u, val_sds_avail:0, "
      "val_zmalloc: %u",
      key_bytes, heap_block(key_bytes), bytes, heap_block(bytes)));
}

Reply debug_listpack(CommandContext& context) {
  return context.db().peek(context[2]) == nullptr ? errors::no_such_key() : errors::no_listpack();
}

Reply debug_quicklist(CommandContext& context) {
  return context.db().peek(context[2]) == nullptr ? errors::no_such_key() : errors::no_quicklist();
}

// ---- Tables ----

namespace {

/// The tables have other shapes than Redis's, so only their sizes are shown.
std::string table_statistics(std::size_t elements) {
  constexpr std::string_view kTitle = "Hash table 0 stats (main hash table):\n";
  if (elements == 0) return concat(kTitle, "No stats available for empty dictionaries\n");
  return concat(kTitle, " number of elements: ", elements, "\n");
}

}  // namespace

Reply debug_htstats(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  const std::int64_t number = arguments.next_integer();
  if (!arguments.ok()) return arguments.take_error();
  if (number < 0 || number >= static_cast<std::int64_t>(Keyspace::kDatabases))
    return errors::database_out_of_range();
  const Database& db = context.keyspace().db(static_cast<std::size_t>(number));
  return Reply::verbatim(concat("txt:[Dictionary HT]\n", table_statistics(db.size()),
                                "[Expires HT]\n", table_statistics(db.expiring())));
}

Reply debug_htstats_key(CommandContext& context) {
  const Object* const object = context.db().peek(context[2]);
  if (object == nullptr) return errors::no_such_key();
  std::size_t elements = 0;
  if (object->type() == ValueType::kHash && object->hash().is_large()) {
    elements = object->hash().size();
  } else if (object->type() == ValueType::kSet && object->set().is_large()) {
    elements = object->set().size();
  } else if (object->type() == ValueType::kSortedSet && object->sorted_set().is_large()) {
    elements = object->sorted_set().size();
  } else {
    return errors::no_hash_table();
  }
  return Reply::verbatim(concat("txt:", table_statistics(elements)));
}

// ---- POPULATE ----

/// Creates the strings <prefix>:0, <prefix>:1, …. Existing keys stay.
Reply debug_populate(CommandContext& context) {
  constexpr std::int64_t kKeysMax = 10'000'000;
  constexpr std::int64_t kBytesMax = std::int64_t{1} << 30;
  constexpr std::size_t kKeyBytesMax = 127;  // as in Redis
  Arguments arguments(context.request(), 2);
  const std::int64_t count = arguments.next_at_least(0, errors::not_positive());
  const std::string_view prefix =
      arguments.at_end() ? std::string_view("key") : errors::as_c_string(arguments.next());
  const std::int64_t bytes =
      arguments.at_end() ? 0 : arguments.next_at_least(0, errors::not_positive());
  if (!arguments.ok()) return arguments.take_error();
  if (count > kKeysMax || bytes > kBytesMax / std::max<std::int64_t>(count, 1))
    return errors::populates_too_much();
  if (!context.services().write_refusal.empty())
    return Reply::error(context.services().write_refusal);

  for (std::int64_t i = 0; i < count; ++i) {
    const std::string key = concat(prefix, ":", i).substr(0, kKeyBytesMax);
    if (context.db().find(key) != nullptr) continue;
    std::string value = concat("value:", i);
    if (bytes > 0) value.resize(static_cast<std::size_t>(bytes));
    context.db().create(key, StringValue(value));
  }
  return Reply::ok();
}

}  // namespace rushgate
