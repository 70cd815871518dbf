#include "engine/redis/keyspace/stream_counters.h"

#include "engine/redis/keyspace/records.h"

namespace rushgate {

void StreamCounters::add(StreamId first, StreamId last, std::uint64_t count) {
  if (length == 0) {
    first_id = first;
    position = {};
  }
  length += count;
  entries_added += count;
  last_id = last;
}

void StreamCounters::write(RecordWriter& writer) const {
  writer.varint(length).varint(entries_added);
  writer.varint_id(first_id).varint_id(last_id).varint_id(max_deleted_id);
  position.write(writer);
}

bool StreamCounters::read(RecordReader& reader) {
  length = reader.varint();
  entries_added = reader.varint();
  first_id = reader.varint_id();
  last_id = reader.varint_id();
  max_deleted_id = reader.varint_id();
  return position.read(reader) && entries_added <= kEntriesAddedMax && length <= entries_added &&
         first_id <= last_id && (length > 0) == (first_id != StreamId{});
}

}  // namespace rushgate
