// The pages of the demo: visitors look on, and buy, while the rush runs.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include <rushgate/flash_sale.h>
#include <rushgate/http_server.h>

namespace rushgate {

/// Serves the pages of the demo's sale, with a page that pretends to be a payment provider. Publishes a
/// voucher for visitors, and prints the addresses of the pages when it is called first, with `is_first`.
/// Sets the port of `options` if it was 0, so that the next call serves at the same address.
absl::StatusOr<std::unique_ptr<HttpServer>> serve_demo(FlashSale& sale, HttpServerOptions& options,
                                                       bool is_first);

}  // namespace rushgate
