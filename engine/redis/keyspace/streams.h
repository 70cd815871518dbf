// Mutators of streams and their consumer groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/redis/keyspace/database.h"

namespace rushgate::streams {

// ---- Entries. An operation that fails with the store's error has no effect ----

/// Creates an empty stream at the free key `key`. As in Redis, a stream may be empty.
Object& create(Database& db, std::string_view key);

/// Appends an entry. `id` must be above the stream's last_id(); `fields` must not be empty.
/// kDataLoss if the store holds entries above last_id().
absl::Status append(Database& db, Object& object, StreamId id, StreamFields fields);

/// Appends an entry with the automatic id, and returns it. kOutOfRange if the stream has no ids
/// left.
absl::StatusOr<StreamId> append_automatic(Database& db, Object& object, StreamFields fields);

/// Appends entries of integers, one per row of `values`, with the fields `names` and automatic ids.
/// kOutOfRange if the current ms has too few ids left.
absl::Status append_rows(Database& db, Object& object, std::span<const std::string_view> names,
                         std::span<const std::int64_t> values);

/// Copies the entries and groups of `from` to a new stream at the free key `key`.
absl::Status copy(const Stream& from, Database& to, std::string_view key);

/// XDEL. Sets `erased` to the number of removed entries.
absl::Status erase(Database& db, Object& object, std::span<const StreamId> ids,
                   std::uint64_t& erased);

/// The treatment of entries that are pending when they are removed from a stream.
enum class PendingRemoval : std::uint8_t {
  kKeep,              // KEEPREF: they stay pending
  kForget,            // DELREF: no group has them pending any more
  kAcknowledgedOnly,  // ACKED: only entries that all groups have received and acknowledged are removed
};

/// Removes the oldest entries. Sets `removed` to their number.
absl::Status trim(Database& db, Object& object, const StreamLog::TrimTo& to, std::uint64_t& removed,
                  PendingRemoval pending = PendingRemoval::kKeep);

/// XSETID. `last_id` must not be below an entry's id, nor `entries_added` below the number of
/// entries. A lower id than before creates the stream again, because the store may still hold the
/// ids that follow: `object` is invalid then.
absl::Status set_history(Database& db, Object& object, StreamId last_id,
                         std::uint64_t entries_added, StreamId max_deleted_id);

// ---- Groups. They, and their consumers, are those of `object` ----

/// The name must be new.
StreamGroup& create_group(Database& db, Object& object, std::string_view name,
                          StreamId last_delivered, std::int64_t entries_read);
/// Removes a group with its consumers and pending entries: `group` is invalid then.
void destroy_group(Database& db, Object& object, StreamGroup& group);
/// Sets the group's position.
void set_group_position(Database& db, Object& object, StreamGroup& group, StreamId last_delivered,
                        std::int64_t entries_read);

/// Creates a consumer, seen now. The name must be new.
StreamConsumer& create_consumer(Database& db, Object& object, StreamGroup& group,
                                std::string_view name);
/// Removes a consumer with its pending entries. Returns their number.
std::size_t remove_consumer(Database& db, Object& object, StreamGroup& group,
                            StreamConsumer& consumer);
/// Records that the consumer was seen now.
void see_consumer(Database& db, Object& object, StreamGroup& group, StreamConsumer& consumer);

/// Makes the entry pending, or changes its consumer, delivery time and delivery
/// count.
void assign_pending(Database& db, Object& object, StreamGroup& group, StreamId id,
                    const PendingEntry& entry);
/// Returns the pending entries in order of their delivery. The first call for a group sorts them.
const StreamGroup::Deliveries& ordered_deliveries(Database& db, Object& object, StreamGroup& group);
/// XACK. Returns false if the entry was not pending.
bool acknowledge(Database& db, Object& object, StreamGroup& group, StreamId id);
/// Acknowledges the entries from `first` up to `last` in all groups.
void forget_pending(Database& db, Object& object, StreamId first, StreamId last);
/// Returns the last id that all groups have delivered; the maximum if there is no group.
[[nodiscard]] StreamId delivered_to_all(const Stream& stream);
/// Returns true if a group has the entry pending, or has not yet delivered it.
[[nodiscard]] bool is_awaited(const Stream& stream, StreamId id);

}  // namespace rushgate::streams
