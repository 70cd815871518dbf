// The address of --http.
#pragma once

#include <string>

#include <rushgate/http_server.h>

namespace rushgate {

/// Returns options with the address and the port of ADDRESS:PORT; the address of IPv6 is in brackets.
/// Throws CLI::ValidationError.
HttpServerOptions parse_http_address(const std::string& text);

}  // namespace rushgate
