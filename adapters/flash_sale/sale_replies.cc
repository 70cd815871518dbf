#include "adapters/flash_sale/sale_replies.h"

#include <string>
#include <utility>
#include <vector>

#include "adapters/flash_sale/utc_time.h"
#include "engine/core/base/concat.h"

namespace rushgate {
namespace {

using Json = nlohmann::ordered_json;

std::string_view error_code_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kSoldOut:
      return "SOLDOUT";
    case Outcome::kLimitReached:
      return "LIMIT";
    case Outcome::kDayLimitReached:
      return "DAYLIMIT";
    case Outcome::kTokenRefused:
      return "TOKENREFUSED";
    case Outcome::kNotStarted:
      return "NOTSTARTED";
    case Outcome::kEnded:
      return "ENDED";
    case Outcome::kUnknownVoucher:
      return "UNKNOWNVOUCHER";
    case Outcome::kOverloaded:
      return error_code::kOverloaded;
    case Outcome::kUnavailable:
      return "UNAVAILABLE";
    case Outcome::kOutcomeUnknown:
      return error_code::kOutcomeUnknown;
    case Outcome::kKeyReused:
      return "KEYREUSED";
    case Outcome::kRefused:
      return "REFUSED";
    case Outcome::kAccepted:
    case Outcome::kFailed:
      break;
  }
  return "FAILED";
}

std::string_view error_code_of(ChangeOutcome outcome) {
  switch (outcome) {
    case ChangeOutcome::kTooLate:
      return "TOOLATE";
    case ChangeOutcome::kRefused:
      return "REFUSED";
    case ChangeOutcome::kUnknownOrder:
      return "UNKNOWNORDER";
    case ChangeOutcome::kOverloaded:
      return error_code::kOverloaded;
    case ChangeOutcome::kUnavailable:
      return "UNAVAILABLE";
    case ChangeOutcome::kOutcomeUnknown:
      return error_code::kOutcomeUnknown;
    case ChangeOutcome::kDone:
    case ChangeOutcome::kFailed:
      break;
  }
  return "FAILED";
}

std::string_view error_code_of(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return "ERR";
    case absl::StatusCode::kNotFound:
      return "UNKNOWNVOUCHER";
    case absl::StatusCode::kAlreadyExists:
      return "VERSIONCHANGED";
    case absl::StatusCode::kFailedPrecondition:
      return "REFUSED";
    case absl::StatusCode::kResourceExhausted:
      return error_code::kOverloaded;
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kUnavailable:
      return "UNAVAILABLE";
    default:
      return "FAILED";
  }
}

void append_detail(std::string& text, std::string_view detail) {
  if (detail.empty()) return;
  text += ": ";
  text += detail;
}

Reply order_reply(const BuyResult& result) {
  std::vector<Reply> fields(2);
  fields[0] = Reply::bulk(std::to_string(result.order));
  if (!result.is_repeated) {
    fields[1] = Reply::bulk("queued");
  } else if (result.status) {
    fields[1] = Reply::bulk(order_status_name(*result.status));
  }
  return Reply::array(std::move(fields));
}

}  // namespace

Reply reply_of(const BuyResult& result, std::int64_t now_ms) {
  if (result.outcome == Outcome::kAccepted) return order_reply(result);
  std::string text = concat(error_code_of(result.outcome), " ", outcome_name(result.outcome));
  if (result.order != 0) text += concat(": order ", result.order);
  if (result.outcome == Outcome::kNotStarted) append_detail(text, "it is " + format_utc(now_ms));
  append_detail(text, result.detail);
  return Reply::error(std::move(text));
}

Reply reply_of(const ChangeResult& result, OrderId order) {
  if (result.outcome == ChangeOutcome::kDone) {
    return Reply::bulk(order_status_name(result.status));
  }
  std::string text =
      concat(error_code_of(result.outcome), " ", change_outcome_name(result.outcome));
  const std::string state = concat("order ", order, " is ", order_status_name(result.status));
  // A refusal by the database begins with the same words.
  if (result.outcome == ChangeOutcome::kTooLate && !result.detail.starts_with(state)) {
    append_detail(text, state);
  }
  append_detail(text, result.detail);
  return Reply::error(std::move(text));
}

Reply error_reply(const absl::Status& status) {
  return Reply::error(concat(error_code_of(status.code()), " ", status.message()));
}

Reply reply_of(const Json& json) {
  switch (json.type()) {
    case Json::value_t::object: {
      std::vector<Reply> fields;
      for (const auto& [name, value] : json.items()) {
        fields.push_back(Reply::bulk(name));
        fields.push_back(reply_of(value));
      }
      return Reply::map(std::move(fields));
    }
    case Json::value_t::array: {
      std::vector<Reply> elements;
      for (const Json& element : json) elements.push_back(reply_of(element));
      return Reply::array(std::move(elements));
    }
    case Json::value_t::string:
      return Reply::bulk(json.get_ref<const std::string&>());
    case Json::value_t::boolean:
      return Reply::integer(json.get<bool>() ? 1 : 0);
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return Reply::integer(json.get<std::int64_t>());
    default:
      return Reply::nil();
  }
}

}  // namespace rushgate
