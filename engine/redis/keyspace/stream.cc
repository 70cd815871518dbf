#include "engine/redis/keyspace/stream.h"

#include "engine/redis/keyspace/records.h"

namespace rushgate {

// ---- A group's position ----

bool Stream::may_have_gap_from(StreamId start) const {
  const StreamId deleted = log_.max_deleted_id();
  if (log_.length() == 0 || deleted == StreamId{}) return false;
  return deleted >= log_.first_id() && deleted >= start;
}

std::int64_t Stream::entries_up_to(StreamId id) const {
  const auto added = static_cast<std::int64_t>(log_.entries_added());
  const auto live = static_cast<std::int64_t>(log_.length());
  if (added == 0) return 0;
  if (live == 0 && id <= log_.last_id()) return added;
  if (id == log_.last_id()) return added;
  if (id > log_.last_id()) return StreamGroup::kEntriesReadUnknown;
  const bool has_gap_ahead =
      log_.max_deleted_id() != StreamId{} && log_.max_deleted_id() >= log_.first_id();
  if (!has_gap_ahead && id < log_.first_id()) return added - live;
  if (!has_gap_ahead && id == log_.first_id()) return added - live + 1;
  return StreamGroup::kEntriesReadUnknown;
}

std::optional<std::int64_t> Stream::lag(const StreamGroup& group) const {
  if (log_.entries_added() == 0) return 0;
  std::int64_t read = group.entries_read;
  if (read == StreamGroup::kEntriesReadUnknown || may_have_gap_from(group.last_delivered)) {
    read = entries_up_to(group.last_delivered);
    if (read == StreamGroup::kEntriesReadUnknown) return std::nullopt;
  }
  return static_cast<std::int64_t>(log_.entries_added() -
                                   static_cast<std::uint64_t>(read));  // ENTRIESREAD may be any
}

// ---- Records ----

bool Stream::load_element(RecordKind kind, RecordReader& key_rest, std::string_view value) {
  RecordReader value_reader(value);
  switch (kind) {
    case RecordKind::kStreamDeleted:
    case RecordKind::kStreamGap:
      return log_.deletions().load(kind, key_rest, value_reader, log_.counters());
    case RecordKind::kStreamGroup:
    case RecordKind::kStreamConsumer:
    case RecordKind::kStreamPending:
      return groups_.load(kind, key_rest, value_reader);
    case RecordKind::kHeader:
    case RecordKind::kElement:
    case RecordKind::kSetSegment:
    case RecordKind::kLibrary:
    case RecordKind::kFieldExpiry:
      break;
  }
  return false;
}

void Stream::count_records(RecordCounts& counts) const {
  log_.deletions().count_records(counts);
  groups_.count_records(counts);
}

void Stream::remove_each_record(StoreBatch& batch, RecordKind kind) const {
  log_.deletions().remove_each_record(batch, kind);
  groups_.remove_each_record(batch, kind);
}

void Stream::complete_records(StoreBatch& batch) {
  groups_.record_dirty(batch);
  log_.complete_records(batch);
}

void Stream::end_batch() {
  log_.end_batch();
  groups_.end_batch();
}

}  // namespace rushgate
