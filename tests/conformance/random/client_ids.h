// The CLIENT IDs of a backend's sessions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "tests/conformance/backend.h"

namespace rushgate::testing {

class ClientIds {
 public:
  /// Asks the backend for the id of this session.
  void ask(Backend& backend, int session) {
    const std::int64_t id = backend.ask(session, Request::of("CLIENT", "ID")).integer();
    ids_.insert_or_assign(variable_of(session), std::to_string(id));
  }

  [[nodiscard]] const std::string& of(int session) const { return ids_.at(variable_of(session)); }

  /// Returns "$client2" for the id of session 2, and "unknown" for one that has ended.
  [[nodiscard]] std::string name_of(std::string_view id) const {
    for (const auto& [variable, known] : ids_) {
      if (known == id) return variable;
    }
    return "unknown";
  }

  /// Returns the request with the id of session 2 in place of $client2.
  [[nodiscard]] Request inserted_in(const Request& request) const {
    Request replaced;
    for (std::size_t i = 0; i < request.size(); ++i) {
      const auto id = ids_.find(request[i]);
      replaced.add(id == ids_.end() ? request[i] : std::string_view(id->second));
    }
    return replaced;
  }

 private:
  static std::string variable_of(int session) { return "$client" + std::to_string(session); }

  std::map<std::string, std::string, std::less<>> ids_;  // by variable
};

}  // namespace rushgate::testing
