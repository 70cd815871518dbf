// Mutators of lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/redis/keyspace/database.h"
#include <rushgate/maybe_integer.h>

namespace rushgate::lists {

enum class End : std::uint8_t { kHead, kTail };

/// Creates an empty list at the free key `key`. An element must be pushed at once: lists are never
/// empty between commands.
Object& create(Database& db, std::string_view key);

/// Returns the element at an end.
std::string peek(const ListValue& list, End end);

void push(Database& db, Object& object, End end, const MaybeInteger& element);

/// Inserts before the element at `index`.
void insert(Database& db, Object& object, std::size_t index, const MaybeInteger& element);

/// Replaces the element at `index`.
void set(Database& db, Object& object, std::size_t index, const MaybeInteger& element);

// The last element takes the key with it: `object` is invalid then.

/// Removes and returns the element at an end.
std::string pop(Database& db, Object& object, End end);

/// Removes `count` elements from `first` on. A `count` of 0 is only visible to WATCH.
void remove_range(Database& db, Object& object, std::size_t first, std::size_t count);

/// Removes up to `count_max` elements equal to `element`, beginning at an end. Returns their
/// number.
std::size_t remove_equal(Database& db, Object& object, const MaybeInteger& element, End from,
                         std::size_t count_max);

}  // namespace rushgate::lists
