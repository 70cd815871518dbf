// Mutators of hashes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/redis/keyspace/database.h"

namespace rushgate::hashes {

/// Creates an empty hash at the free key `key`. A field must be set at once: hashes are never empty
/// between commands.
Object& create(Database& db, std::string_view key);

/// Returns true if the field is new. An old one loses its expiry.
bool set(Database& db, Object& object, std::string_view field, std::string_view value);

/// As set(), but the field keeps its expiry.
bool set_keeping_expiry(Database& db, Object& object, std::string_view field,
                        std::string_view value);

/// As set_keeping_expiry(), but a small hash stays small regardless of the limits.
bool set_keeping_form(Database& db, Object& object, std::string_view field, std::string_view value);

/// Returns false if there was none. The last field takes the key with it: `object` is invalid.
bool remove(Database& db, Object& object, std::string_view field);

/// Sets the expiry of a field that exists; empty for none. A time in the past is allowed: the next
/// Database::find() removes the field.
void set_expiry(Database& db, Object& object, std::string_view field,
                std::optional<std::int64_t> expire_at_ms);

/// Hides the expired fields, of which there must be one. Removes up to `count_max` of them, in order
/// of their times. Returns their number, or 1 if all fields have expired: they are removed at once,
/// with the key. `object` is invalid then.
std::size_t remove_expired(Database& db, Object& object, std::size_t count_max);

/// Hides the expired fields; others must remain. Under Keyspace::keeps_expired() this is no change,
/// and Keyspace::set_keeps_expired() shows them again.
void hide_expired(Database& db, Object& object);

/// Makes a small hash large: it exceeds the limits of Redis's compact encoding.
void grow(Database& db, Object& object);

/// Copies the fields of `from` and their expiries into an empty hash, in the same form.
void copy(Database& db, Object& made, const HashValue& from);

}  // namespace rushgate::hashes
