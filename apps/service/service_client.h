// A running service of a sale (`rushgate serve --http`), by HTTP.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

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

  /// Takes `http://host[:port]`, and the token from the environment. kInvalidArgument: the URL is wrong.
  static absl::StatusOr<ServiceClient> of_url(const std::string& url);

  /// Sends a request, with a body unless `body` is null, and waits up to 30 s for the reply. A reply of
  /// any status is an answer, if it is JSON. kUnavailable: the service cannot be reached, or is late.
  [[nodiscard]] absl::StatusOr<ServiceAnswer> call(const std::string& method,
                                                   const std::string& target,
                                                   const Json& body = nullptr,
                                                   const Fields& fields = {}) const;
  /// The same, and any refusal is an error.
  [[nodiscard]] absl::StatusOr<Json> get(const std::string& target) const;
  /// Returns the refusal as an error. kUnavailable: nothing was done, and a repetition may help.
  [[nodiscard]] absl::Status error_of(const ServiceAnswer& answer) const;

 private:
  ServiceClient(std::string url, std::string host, std::string port, std::string token)
      : url_(std::move(url)),
        host_(std::move(host)),
        port_(std::move(port)),
        token_(std::move(token)) {}

  std::string url_;
  std::string host_;  // without the brackets of IPv6
  std::string port_;
  std::string token_;  // empty: none
};

}  // namespace rushgate
