#include "adapters/http/problem.h"

#include <utility>

#include "adapters/http/object_text.h"
#include "engine/core/base/concat.h"

namespace rushgate::http {
namespace {

/// References and reasons may hold any bytes: invalid UTF-8 is replaced.
std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

const ProblemType& type_of(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return kInvalidRequest;
    case absl::StatusCode::kNotFound:
      return kUnknownVoucher;
    case absl::StatusCode::kAlreadyExists:
      return kVersionChanged;
    case absl::StatusCode::kFailedPrecondition:
      return kRefused;
    case absl::StatusCode::kResourceExhausted:
      return kOverloaded;
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kUnavailable:
      return kUnavailable;
    case absl::StatusCode::kUnknown:
      return kOutcomeUnknown;
    default:
      return kFailed;
  }
}

}  // namespace

HttpAnswer json_answer(const Json& json, int status) {
  HttpAnswer answer;
  answer.status = status;
  answer.body = json_text(json);
  return answer;
}

HttpAnswer problem(const ProblemType& type, std::string_view detail, const Json& more) {
  ObjectText text;
  text.add_text("type", concat(kProblemUri, type.name)).add_text("title", type.title);
  text.add_number("status", type.status);
  if (!detail.empty()) text.add_text("detail", detail);
  for (const auto& [name, value] : more.items()) text.add_json(name, value);
  HttpAnswer answer;
  answer.status = type.status;
  answer.type = "application/problem+json";
  answer.body = std::move(text).finish();
  if (type.retry_after_s > 0) {
    answer.fields.emplace_back("Retry-After", std::to_string(type.retry_after_s));
  }
  return answer;
}

HttpAnswer problem_of(const absl::Status& error) {
  const auto message = error.message();
  return problem(type_of(error.code()), {message.data(), message.size()});
}

}  // namespace rushgate::http
