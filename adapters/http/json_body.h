// The fields of requests' bodies.
#pragma once

#include <optional>
#include <string>

#include "adapters/flash_sale/field_reader.h"
#include "adapters/http/problem.h"

namespace rushgate::http {

/// Reads the fields of a body. Keeps the first fault.
class BodyReader {
 public:
  explicit BodyReader(const Json& body) : fields_(body, "", fault_) {}

  FieldReader* operator->() { return &fields_; }
  /// Reports unknown fields. Returns the reply if there was any fault.
  std::optional<HttpAnswer> finish() {
    fields_.finish();
    if (fault_.empty()) return std::nullopt;
    return problem(kInvalidRequest, fault_);
  }

 private:
  std::string fault_;
  FieldReader fields_;
};

}  // namespace rushgate::http
