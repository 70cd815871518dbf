#include "apps/commands/http_address.h"

#include <cstdint>
#include <limits>

#include <CLI/CLI.hpp>

#include "engine/core/base/numbers.h"

namespace rushgate {

HttpServerOptions parse_http_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const auto port = parse_uint64(colon == std::string::npos ? "" : text.substr(colon + 1));
  if (!port || *port > std::numeric_limits<std::uint16_t>::max()) {
    throw CLI::ValidationError("--http", "'" + text + "' is not ADDRESS:PORT");
  }
  HttpServerOptions options;
  options.port = static_cast<std::uint16_t>(*port);
  options.bind_address = text.substr(0, colon);
  if (options.bind_address.starts_with('[') && options.bind_address.ends_with(']')) {
    options.bind_address = options.bind_address.substr(1, options.bind_address.size() - 2);
  }
  return options;
}

}  // namespace rushgate
