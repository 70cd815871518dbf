#include "engine/redis/keyspace/stream_record.h"

namespace rushgate {

RecordWriter StreamRecord::begin(RecordKind kind, std::string& key) const {
  RecordWriter writer(key);
  writer.byte(static_cast<std::uint8_t>(kind)).fixed64(object_id_);
  return writer;
}

}  // namespace rushgate
