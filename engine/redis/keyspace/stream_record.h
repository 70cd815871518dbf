// Writes the records of a stream, except its header and its segments. docs/format.md defines their
// layout.
#pragma once

#include <cstdint>
#include <string>

#include "engine/redis/keyspace/records.h"
#include <rushgate/store.h>

namespace rushgate {

class StreamRecord {
 public:
  explicit StreamRecord(std::uint64_t object_id) : object_id_(object_id) {}

  /// Begins a key. Returns the writer of its rest, which follows kind and object id.
  RecordWriter begin(RecordKind kind, std::string& key) const {
    RecordWriter writer(key);
    writer.byte(static_cast<std::uint8_t>(kind)).fixed64(object_id_);
    return writer;
  }

  /// Writes or removes a record. `write_key` and `write_value` get a RecordWriter&.
  template <class WriteKey, class WriteValue>
  void put(StoreBatch& batch, RecordKind kind, WriteKey write_key, WriteValue write_value) const {
    batch.put_written([&](std::string& key) { write_rest(kind, write_key, key); },
                      [&](std::string& value) {
                        RecordWriter writer(value);
                        write_value(writer);
                      });
  }
  template <class WriteKey>
  void remove(StoreBatch& batch, RecordKind kind, WriteKey write_key) const {
    batch.remove_written([&](std::string& key) { write_rest(kind, write_key, key); });
  }

 private:
  template <class WriteKey>
  void write_rest(RecordKind kind, WriteKey& write_key, std::string& key) const {
    auto writer = begin(kind, key);
    write_key(writer);
  }

  const std::uint64_t object_id_;
};

}  // namespace rushgate
