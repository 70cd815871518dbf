// The URL of a keyspace: one that is accepted names a place.
#include <string>

#include "tests/fuzz/fuzz.h"
#include <rushgate/open_backend.h>

RUSHGATE_FUZZER(url) {
  using namespace rushgate;
  const std::string text(fuzz::to_text(data, size));
  const auto url = BackendUrl::parse(text);
  if (!url.ok()) return 0;
  switch (url->kind) {
    case BackendUrl::Kind::kMemory:
      fuzz::expect(text == "memory:", "memory: has no options");
      break;
    case BackendUrl::Kind::kDirectory:
      fuzz::expect(!url->dir.empty(), "a directory has a path");
      break;
    case BackendUrl::Kind::kRedis:
      fuzz::expect(!url->redis.host.empty() || !url->redis.unix_path.empty(),
                   "a Redis has an address");
      fuzz::expect(url->redis.db >= 0, "a database has a number");
      break;
  }
  return 0;
}
