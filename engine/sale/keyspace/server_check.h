// Whether a server can hold a sale: its settings, and the commands that it allows.
#pragma once

#include "absl/status/status.h"
#include <rushgate/client.h>
#include <rushgate/sale_keys.h>

namespace spdlog {
class logger;
}

namespace rushgate {

/// Checks the server behind `client` before a sale opens there. Logs a warning for each setting with
/// which the server may lose orders or break limits. `has_slots`: of the backend's capabilities.
/// `logger` may be null. Errors:
/// - kUnimplemented: the server belongs to a Redis Cluster, and the client does not, or the keys of the
///   sale are in several slots.
/// - kPermissionDenied: the server refuses commands or keys that a sale or its workers need. The
///   message names all of them.
/// - kUnavailable: the server cannot be asked now.
absl::Status check_server(Client& client, const SaleKeys& keys, bool has_slots,
                          spdlog::logger* logger);

}  // namespace rushgate
