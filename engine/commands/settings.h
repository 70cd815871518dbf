// What CONFIG tells of the engine's surroundings. Limits of encodings are the keyspace's, that of
// scripts is the interpreter's.
#pragma once

#include <cstdint>

namespace rushgate {

/// Set by whoever builds the engine; under each the name of its parameter.
struct Settings {
  std::int64_t port = 0;              // port: of a server that speaks for the engine
  std::int64_t clients_max = 10'000;  // maxclients
  std::int64_t idle_timeout_s = 0;    // timeout; 0: none
};

}  // namespace rushgate
