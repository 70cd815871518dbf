// The description of the routes, for programs: OpenAPI 3.1.
#pragma once

#include <string>

namespace rushgate::http {

/// Returns the document at /openapi.json.
const std::string& openapi_text();

}  // namespace rushgate::http
