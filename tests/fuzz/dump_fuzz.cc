// Payloads of RESTORE with a valid checksum: each one is refused, or restored to a value whose own
// payload restores it again. Another engine finds the result in the store.
#include <string>

#include "engine/redis/rdb/payload.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/opened_engine.h"
#include <rushgate/memory_store.h>

namespace rushgate {
namespace {

void restore(fuzz::OpenedEngine& engine, const std::string& payload) {
  const Reply reply = engine.call("RESTORE", "a", 0, payload);
  if (reply.is_error()) {
    fuzz::expect(reply == Reply::error("ERR Bad data format"), "the value is refused");
    fuzz::expect(engine.contents().empty(), "a refused value leaves nothing");
    return;
  }
  const std::string contents = engine.contents();
  const Reply dumped = engine.call("DUMP", "a");
  engine.call("DEL", "a");
  fuzz::expect(engine.call("RESTORE", "a", 0, dumped.text()) == Reply::ok(),
               "the value's own payload is restored");
  fuzz::expect(engine.contents() == contents, "it is the same value");
}

}  // namespace
}  // namespace rushgate

RUSHGATE_FUZZER(dump) {
  std::string payload(rushgate::fuzz::to_text(data, size));
  rushgate::rdb::seal(payload);
  rushgate::MemoryStore store({.keep_state = true});
  std::string kept;
  {
    rushgate::fuzz::OpenedEngine engine(store);
    rushgate::restore(engine, payload);
    kept = engine.contents();
  }
  rushgate::fuzz::expect_kept(store, kept);
  return 0;
}
