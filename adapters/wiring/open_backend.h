// A backend from a URL: develop on the embedded engine, run on a Redis. Start here to let
// configuration choose.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "adapters/wiring/backend_url.h"
#include "engine/client/backend.h"
#include "engine/store/store.h"

namespace spdlog {
class logger;
}

namespace rushgate {

struct OpenBackendOptions {
  bool create_if_missing = true;             // a directory
  std::string client_name = {};              // the name for CLIENT LIST on a Redis; empty: none
  int connections_max = 16;                  // RedisOptions::connections_max
  std::shared_ptr<spdlog::logger> logger{};  // may be null
};

/// Opens the engine or connects to a Redis. kInvalidArgument: the URL is wrong, as
/// BackendUrl::parse() says; otherwise the error of the store or of RedisBackend::open().
absl::StatusOr<std::unique_ptr<Backend>> open_backend(std::string_view url,
                                                      const OpenBackendOptions& options = {});
absl::StatusOr<std::unique_ptr<Backend>> open_backend(const BackendUrl& url,
                                                      const OpenBackendOptions& options = {});

/// Opens the store of an engine, for a program that sets up the engine itself. kInvalidArgument:
/// the URL is a Redis's.
absl::StatusOr<std::unique_ptr<Store>> open_store(const BackendUrl& url,
                                                  const OpenBackendOptions& options = {});

}  // namespace rushgate
