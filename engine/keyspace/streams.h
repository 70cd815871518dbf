// What changes streams and their consumer groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/keyspace/database.h"

namespace rushgate::streams {

// ---- Entries. What fails, with the store's error, changes nothing ----

/// An empty stream at `key`, where there must be nothing. It stays when it is empty, as in Redis.
Object& create(Database& db, std::string_view key);

/// `id` must be above the stream's last_id(), `fields` not be empty. kDataLoss if the store holds
/// entries above last_id().
absl::Status append(Database& db, Object& object, StreamId id, StreamFields fields);

/// The same under the id that comes by itself, which it returns. kOutOfRange if the stream has run
/// out of ids.
absl::StatusOr<StreamId> append_automatic(Database& db, Object& object, StreamFields fields);

/// The same for entries of integers, one a row of `values`, all under `names` and with ids that
/// come by themselves. kOutOfRange if the stream has not so many ids left of one ms.
absl::Status append_rows(Database& db, Object& object, std::span<const std::string_view> names,
                         std::span<const std::int64_t> values);

/// What `from` holds, its groups too, as another stream at `key`, where there must be nothing.
absl::Status copy(const Stream& from, Database& to, std::string_view key);

/// XDEL. Sets `erased` to how many there were.
absl::Status erase(Database& db, Object& object, std::span<const StreamId> ids,
                   std::uint64_t& erased);

/// Removes the oldest entries. Sets `removed` to how many.
absl::Status trim(Database& db, Object& object, const Stream::TrimTo& to, std::uint64_t& removed);

/// XSETID. `last_id` must not be below an entry's id, nor `entries_added` below their number. Lower
/// than before, it makes the stream anew, as ids that the store may still hold are given again:
/// `object` is not to be used then.
absl::Status set_history(Database& db, Object& object, StreamId last_id,
                         std::uint64_t entries_added, StreamId max_deleted_id);

// ---- Groups. They, and their consumers, are those of `object` ----

/// There must be none of that name.
StreamGroup& create_group(Database& db, Object& object, std::string_view name,
                          StreamId last_delivered, std::int64_t entries_read);
/// With its consumers and pending entries: `group` is not to be used then.
void destroy_group(Database& db, Object& object, StreamGroup& group);
/// Where the group goes on reading.
void set_group_position(Database& db, Object& object, StreamGroup& group, StreamId last_delivered,
                        std::int64_t entries_read);

/// There must be none of that name. It was seen now.
StreamConsumer& create_consumer(Database& db, Object& object, StreamGroup& group,
                                std::string_view name);
/// Its pending entries go with it. How many they were.
std::size_t remove_consumer(Database& db, Object& object, StreamGroup& group,
                            StreamConsumer& consumer);
/// Notes that the consumer asked for something now.
void see_consumer(Database& db, Object& object, StreamGroup& group, StreamConsumer& consumer);

/// Makes the entry pending, or changes what is noted of it: who has it, since when, how often it
/// was delivered.
void assign_pending(Database& db, Object& object, StreamGroup& group, StreamId id,
                    const PendingEntry& entry);
/// XACK; false if it was not pending.
bool acknowledge(Database& db, Object& object, StreamGroup& group, StreamId id);

}  // namespace rushgate::streams
