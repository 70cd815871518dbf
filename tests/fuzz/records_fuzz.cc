// Records of a store with any contents: the engine refuses to open, or works on them. When it opens
// its result, it finds the same contents.
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/redis/keyspace/records.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/opened_engine.h"
#include <rushgate/memory_store.h>

namespace rushgate {
namespace {

/// Parses the input as records and segments. A byte chooses the next one. Objects have small
/// numbers.
StoreBatch batch_of(fuzz::Input& input) {
  StoreBatch batch;
  std::uint64_t ms = 0;
  while (!input.empty()) {
    const std::uint8_t kind = input.byte() % 11;
    std::string key;
    RecordWriter writer(key);
    if (kind == 0) {
      const auto any_key = input.text();
      batch.put(any_key, input.text());
    } else if (kind == static_cast<std::uint8_t>(RecordKind::kHeader)) {
      write_header_key(0, input.text(), key);
      batch.put(key, input.text());
    } else if (kind <= static_cast<std::uint8_t>(RecordKind::kStreamGap) ||
               kind == static_cast<std::uint8_t>(RecordKind::kFieldExpiry)) {
      writer.byte(kind).fixed64(input.byte() % 4).rest(input.text());
      batch.put(key, input.text());
    } else {
      const std::uint64_t stream = input.byte() % 4;
      ms += input.byte() + 1U;  // the segments of a store ascend
      const StreamId first{ms, input.byte()};
      if (const auto bytes = input.text(); !bytes.empty())
        batch.append_segment(stream, first, bytes);
    }
  }
  return batch;
}

/// Runs some of each command that reads the parts of a value.
void work_on(fuzz::OpenedEngine& engine, const std::string& key) {
  const auto call = [&](const auto&... args) { return engine.call(args...); };
  const std::string type = call("TYPE", key).text();
  call("OBJECT", "ENCODING", key);
  if (type == "string") {
    call("APPEND", key, "a");
    call("INCR", key);
  } else if (type == "list") {
    for (const char* element : {"1", "b"}) call("LPUSH", key, element);
    call("LINSERT", key, "AFTER", "b", "c");
    call("LSET", key, 0, "d");
    call("RPOP", key);
    call("LREM", key, 0, "1");
    call("LTRIM", key, 0, 5);
  } else if (type == "hash") {
    call("HSET", key, "a", 1, "2", "b");
    call("HINCRBY", key, "a", 1);
    call("HRANDFIELD", key, 2);
    call("HDEL", key, "2");
  } else if (type == "set") {
    call("SADD", key, 1, "a", 2);
    call("SREM", key, "a", 1);
    call("SPOP", key);
    call("SADD", key, 1);
  } else if (type == "zset") {
    call("ZADD", key, 1, "a", "inf", 2);
    call("ZINCRBY", key, 1, "a");
    call("ZPOPMIN", key);
    call("ZRANGEBYSCORE", key, "-inf", 1);
  } else if (type == "stream") {
    const Reply added = call("XADD", key, "*", "f", 1);
    call("XGROUP", "CREATE", key, "g", 0);
    call("XREADGROUP", "GROUP", "g", "c", "COUNT", 3, "STREAMS", key, ">");
    call("XREADGROUP", "GROUP", "g", "c", "STREAMS", key, 0);
    call("XAUTOCLAIM", key, "g", "d", 0, 0);
    if (!added.is_error()) call("XACK", key, "g", added.text());
    call("XTRIM", key, "MAXLEN", 5);
    if (!added.is_error()) call("XDEL", key, added.text());
  }
  call("COPY", key, "copy", "REPLACE");
}

void work(Store& store) {
  std::string kept;
  {
    fuzz::OpenedEngine opened(store);
    if (!opened.is_open()) return;
    for (const std::string& key : opened.keys()) work_on(opened, key);
    kept = opened.contents();
  }
  fuzz::expect_kept(store, kept);
}

}  // namespace
}  // namespace rushgate

RUSHGATE_FUZZER(records) {
  rushgate::fuzz::Input input(data, size);
  rushgate::MemoryStore store({.keep_state = true});
  if (store.commit(rushgate::batch_of(input)).ok()) rushgate::work(store);
  return 0;
}
