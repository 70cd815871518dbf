// Records of a store: whatever they say, the engine refuses to open or works on them, and finds the
// same again when it opens what it kept.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "adapters/testing/faulty_store.h"
#include "engine/executor/engine.h"
#include "engine/keyspace/records.h"
#include "storage/memory/memory_store.h"
#include "tests/fuzz/fuzz.h"

namespace rushgate {
namespace {

/// The input as records and runs. A byte says what comes; objects have small numbers.
StoreBatch batch_of(fuzz::Input& input) {
  StoreBatch batch;
  std::uint64_t ms = 0;
  while (!input.empty()) {
    const std::uint8_t kind = input.byte() % 10;
    std::string key;
    RecordWriter writer(key);
    if (kind == 0) {
      const auto any_key = input.text();
      batch.put(any_key, input.text());
    } else if (kind == static_cast<std::uint8_t>(RecordKind::kHeader)) {
      write_header_key(0, input.text(), key);
      batch.put(key, input.text());
    } else if (kind <= static_cast<std::uint8_t>(RecordKind::kSetRun)) {
      writer.byte(kind).fixed64(input.byte() % 4).rest(input.text());
      batch.put(key, input.text());
    } else {
      const std::uint64_t stream = input.byte() % 4;
      ms += input.byte() + 1U;  // a store's runs ascend
      const StreamId first{ms, input.byte()};
      if (const auto bytes = input.text(); !bytes.empty()) batch.append_run(stream, first, bytes);
    }
  }
  return batch;
}

/// An engine on the store, and a client.
class Opened {
 public:
  explicit Opened(Store& store) {
    auto engine =
        Engine::open(std::make_unique<faults::FaultyStore>(store), {.manual_clock = &clock_});
    if (!engine.ok()) return;
    engine_ = *std::move(engine);
    client_ = engine_->open_client();
  }
  [[nodiscard]] bool is_open() const { return engine_ != nullptr; }

  template <class... Args>
  Reply call(const Args&... args) {
    return client_->call(Request::of(args...));
  }
  std::vector<std::string> keys() {
    std::vector<std::string> keys;
    const Reply all = call("KEYS", "*");
    for (const Reply& key : all.elements()) keys.push_back(key.text());
    std::sort(keys.begin(), keys.end());
    return keys;
  }
  /// Everything that can be seen.
  std::string contents() {
    std::string text;
    for (const std::string& key : keys()) {
      text += to_debug_string(Reply::bulk(key)) + " " + to_debug_string(call("PEXPIRETIME", key)) +
              " " + content_of(key) + "\n";
    }
    return text;
  }
  void work_on(const std::string& key);

 private:
  std::string content_of(const std::string& key) {
    const std::string type = call("TYPE", key).text();
    if (type == "string") return to_debug_string(call("GET", key));
    if (type == "list") return to_debug_string(call("LRANGE", key, 0, -1));
    if (type == "zset") return to_debug_string(call("ZRANGE", key, 0, -1, "WITHSCORES"));
    if (type == "stream") {
      return to_debug_string(call("XRANGE", key, "-", "+")) + " " +
             to_debug_string(call("XREVRANGE", key, "+", "-", "COUNT", 3)) + " " +
             to_debug_string(call("XINFO", "STREAM", key, "FULL"));
    }
    return sorted(type == "hash" ? call("HGETALL", key) : call("SMEMBERS", key),
                  type == "hash" ? 2 : 1);
  }
  static std::string sorted(const Reply& reply, std::size_t width) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < reply.elements().size(); i += width) {
      std::string& part = parts.emplace_back();
      for (std::size_t j = i; j < i + width; ++j) {
        part += to_debug_string(reply.elements()[j]) + " ";
      }
    }
    std::sort(parts.begin(), parts.end());
    std::string text;
    for (const std::string& part : parts) text += part + ", ";
    return text;
  }

  ManualClock clock_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Client> client_;
};

/// Some of every command that meets the parts of a value.
void Opened::work_on(const std::string& key) {
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
    Opened opened(store);
    if (!opened.is_open()) return;
    for (const std::string& key : opened.keys()) opened.work_on(key);
    kept = opened.contents();
  }
  Opened again(store);
  fuzz::expect(again.is_open(), "what was kept can be opened");
  const std::string found = again.contents();
  if (found != kept) std::fprintf(stderr, "kept:\n%s\nfound:\n%s\n", kept.c_str(), found.c_str());
  fuzz::expect(found == kept, "what was kept is found");
  again.call("FLUSHALL");
  fuzz::expect(again.contents().empty(), "nothing remains");
}

}  // namespace
}  // namespace rushgate

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rushgate::fuzz::Input input(data, size);
  rushgate::MemoryStore store({.keep_state = true});
  if (store.commit(rushgate::batch_of(input)).ok()) rushgate::work(store);
  return 0;
}
