// What CONFIG and INFO tell of the engine's surroundings. Limits of encodings are the keyspace's,
// that of scripts is the interpreter's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rushgate {

/// With each the name of its parameter.
struct Settings {
  std::uint16_t port = 0;            // port: of a server that speaks for the engine; 0: none
  std::size_t clients_max = 10'000;  // maxclients
};

}  // namespace rushgate
