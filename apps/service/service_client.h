// A running service of a sale (`rushgate serve --http`), by HTTP.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace boost::asio::ssl {
class context;
}

namespace rushgate {

struct ServiceAnswer {
  unsigned status = 0;
  nlohmann::ordered_json json = {};

  [[nodiscard]] bool is_success() const { return status / 100 == 2; }
  /// Returns the name of the problem, as in "sold-out"; empty if it is none.
  [[nodiscard]] std::string problem() const;
  /// Returns the problem's detail, or its title.
  [[nodiscard]] std::string detail() const;
};

/// Each call is a connection of its own.
class ServiceClient {
 public:
  using Json = nlohmann::ordered_json;
  using Fields = std::vector<std::pair<std::string, std::string>>;

  static constexpr const char* kTokenVariable = "RUSHGATE_TOKEN";

  static constexpr std::chrono::seconds kPatience{30};       // with a reply
  static constexpr std::chrono::seconds kLongPatience{600};  // with one that changes many orders

  /// Takes `http[s]://host[:port]`, and the token; empty: that of the environment. The certificate of the service
  /// must be for this host, and signed by an authority in `tls_ca` (PEM); empty: by one that the system
  /// trusts. kInvalidArgument: the URL is wrong, or the file has no certificate.
  static absl::StatusOr<ServiceClient> of_url(const std::string& url,
                                              const std::filesystem::path& tls_ca,
                                              const std::string& token = {});

  /// Sends a request, with a body unless `body` is null, and waits for the reply. A reply of any status
  /// is an answer, if it is JSON. kUnavailable: the service cannot be reached, or is late.
  /// kPermissionDenied: it has no certificate that can be trusted.
  [[nodiscard]] absl::StatusOr<ServiceAnswer> call(const std::string& method,
                                                   const std::string& target,
                                                   const Json& body = nullptr,
                                                   const Fields& fields = {},
                                                   std::chrono::seconds patience = kPatience) const;
  /// The same, and any refusal is an error.
  [[nodiscard]] absl::StatusOr<Json> get(const std::string& target) const;
  /// Returns the refusal as an error. kUnavailable: nothing was done, and a repetition may help.
  [[nodiscard]] absl::Status error_of(const ServiceAnswer& answer) const;

 private:
  ServiceClient() = default;

  std::string url_;
  std::string host_;  // without the brackets of IPv6
  std::string port_;
  std::string token_;                               // empty: none
  std::shared_ptr<boost::asio::ssl::context> tls_;  // null: no TLS
};

}  // namespace rushgate
