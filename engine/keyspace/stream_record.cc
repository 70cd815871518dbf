#include "engine/keyspace/stream_record.h"

#include "engine/keyspace/records.h"
#include <rushgate/store.h>

namespace rushgate {

RecordWriter StreamRecord::begin(RecordKind kind) {
  key_.clear();
  value_.clear();
  RecordWriter writer(key_);
  writer.byte(static_cast<std::uint8_t>(kind)).fixed64(object_id_);
  return writer;
}

RecordWriter StreamRecord::value() { return RecordWriter(value_); }

void StreamRecord::put(StoreBatch& batch) const { batch.put(key_, value_); }

void StreamRecord::remove(StoreBatch& batch) const { batch.remove(key_); }

}  // namespace rushgate
