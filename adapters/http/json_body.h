// Bodies of requests: JSON from strangers.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "adapters/flash_sale/field_reader.h"
#include "adapters/http/problem.h"

namespace rushgate::http {

inline constexpr int kJsonDepthMax = 16;           // of nested objects and arrays
inline constexpr std::size_t kJsonFieldsMax = 64;  // of one object

/// Parses a body strictly. kInvalidArgument: it is no JSON in UTF-8, nests too deep, or has an
/// object with a field twice or with too many.
absl::StatusOr<Json> parse_json(std::string_view text);

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
