// What changes lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/scalar.h"
#include "engine/keyspace/database.h"

namespace rushgate::lists {

enum class End : std::uint8_t { kHead, kTail };

/// An empty list at `key`, where there must be nothing. Push onto it at once: there are no empty
/// lists between commands.
Object& create(Database& db, std::string_view key);

/// The element at an end.
std::string peek(const ListValue& list, End end);

void push(Database& db, Object& object, End end, const Scalar& element);

/// Before the element at `index`.
void insert(Database& db, Object& object, std::size_t index, const Scalar& element);

/// Puts another element at `index`.
void set(Database& db, Object& object, std::size_t index, const Scalar& element);

// The key goes with its last element: `object` is not to be used then.

/// Takes the element at an end away.
std::string pop(Database& db, Object& object, End end);

/// Removes `count` elements from the one at `first` on. If it is 0, WATCH alone sees it.
void remove_range(Database& db, Object& object, std::size_t first, std::size_t count);

/// Removes up to `count_max` elements that equal `element`, those nearest to an end first. How
/// many.
std::size_t remove_equal(Database& db, Object& object, const Scalar& element, End from,
                         std::size_t count_max);

}  // namespace rushgate::lists
