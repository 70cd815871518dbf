// Vouchers and their waiting lists.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "adapters/flash_sale/sale_json.h"
#include "adapters/http/json_body.h"
#include "adapters/http/route.h"
#include "adapters/http/sale_service.h"
#include "engine/core/base/concat.h"
#include "engine/sale/stores/archived_vouchers.h"
#include "engine/sale/stream/unstored_orders.h"
#include <rushgate/maybe_integer.h>

namespace rushgate::http {
namespace {

constexpr int kStatusOk = 200;
constexpr int kStatusCreated = 201;

std::string etag_of(std::int64_t version) { return concat("\"", version, "\""); }

/// Replies that a voucher is not on sale, and why.
HttpAnswer unknown_voucher(const RouteCall& call) {
  const auto archived = is_archived(SaleStores(call.sale().orders()), call.voucher);
  if (!archived.ok()) return problem_of(archived.status());
  return problem(kUnknownVoucher, concat("voucher ", call.voucher,
                                         *archived ? " was archived" : " was never on sale"));
}

/// Replies with a voucher as it is now.
HttpAnswer voucher_answer(RouteCall& call, int status) {
  const auto summary = call.sale().voucher(call.voucher);
  if (!summary.ok()) return problem_of(summary.status());
  if (!summary->has_value()) return unknown_voucher(call);
  HttpAnswer answer = json_answer(to_json(**summary), status);
  answer.fields.emplace_back("ETag", etag_of((*summary)->version));
  if (status == kStatusCreated) {
    answer.fields.emplace_back("Location", concat("/v1/vouchers/", call.voucher));
  }
  return answer;
}

HttpAnswer changed_voucher(RouteCall& call, const absl::Status& changed) {
  return changed.ok() ? voucher_answer(call, kStatusOk) : problem_of(changed);
}

/// Returns the version that `If-Match: "<version>"` names; nothing for another form.
std::optional<std::int64_t> version_in(std::string_view etag) {
  if (etag.size() < 3 || !etag.starts_with('"') || !etag.ends_with('"')) return std::nullopt;
  return parse_int64(etag.substr(1, etag.size() - 2));
}

HttpAnswer publish_new(RouteCall& call, const Voucher& voucher) {
  const auto is_new = call.sale().publish_if_new(voucher);
  if (!is_new.ok()) return problem_of(is_new.status());
  if (*is_new) return voucher_answer(call, kStatusCreated);
  return problem(kVersionChanged, "the voucher was published before");
}

/// Reads the user who wants to wait. Returns the refusal, if any.
std::optional<HttpAnswer> read_user(const RouteCall& call, UserId& user) {
  BodyReader body(call.body);
  body->require("user", body->read("user", user));
  if (auto wrong = body.finish()) return wrong;
  if (call.caller.may_act_for(user)) return std::nullopt;
  return problem(kForbidden, "the token is another user's");
}

const ProblemType* problem_type_of(WaitOutcome outcome) {
  switch (outcome) {
    case WaitOutcome::kWaiting:
      return nullptr;
    case WaitOutcome::kFree:
      return &kPiecesFree;
    case WaitOutcome::kFull:
      return &kWaitingListFull;
    case WaitOutcome::kLimitReached:
      return &kLimitReached;
    case WaitOutcome::kNotOnSale:
      return &kEnded;
    case WaitOutcome::kNoWaitingList:
      return &kNoWaitingList;
    case WaitOutcome::kUnknownVoucher:
      return &kUnknownVoucher;
    case WaitOutcome::kOverloaded:
      return &kOverloaded;
    case WaitOutcome::kUnavailable:
      return &kUnavailable;
    case WaitOutcome::kOutcomeUnknown:
      return &kOutcomeUnknown;
    case WaitOutcome::kFailed:
      return &kFailed;
  }
  return &kFailed;
}

}  // namespace

// ---- Vouchers ---------------------------------------------------------------------------------

HttpAnswer list_vouchers(RouteCall& call) {
  const auto board = call.service.board().read();
  if (!board.ok()) return problem_of(board.status());
  VoucherId after = std::numeric_limits<VoucherId>::min();
  if (!call.after.empty()) {
    const auto id = parse_int64(call.after);
    if (!id) return problem(kInvalidRequest, "the query's after must be the id of a voucher");
    after = *id;
  }
  Json list = Json::array();
  Json next = nullptr;
  for (const VoucherSummary& summary : **board) {
    if (summary.voucher.id <= after && !call.after.empty()) continue;
    if (list.size() == call.limit) {
      next = list.back()["id"];
      break;
    }
    list.push_back(to_json(summary));
  }
  return json_answer({{"vouchers", std::move(list)}, {"next", std::move(next)}});
}

HttpAnswer get_voucher(RouteCall& call) { return voucher_answer(call, kStatusOk); }

HttpAnswer put_voucher(RouteCall& call) {
  if (!call.body.contains("id")) call.body["id"] = call.voucher;
  // A client may send what it got, with changes.
  for (const char* const read_only : {"version", "free", "admitted"}) call.body.erase(read_only);
  std::string fault;
  const Voucher voucher = read_voucher(call.body, "", fault);
  if (fault.empty() && voucher.id != call.voucher) fault = "id: differs from the path's";
  if (!fault.empty()) return problem(kInvalidRequest, fault);
  const std::string& if_match = call.http.if_match;
  const std::string& if_none_match = call.http.if_none_match;
  if (!if_none_match.empty()) {
    if (if_none_match == "*" && if_match.empty()) return publish_new(call, voucher);
    return problem(kInvalidRequest, "If-None-Match must be *, and alone");
  }
  std::optional<std::int64_t> expected;
  if (!if_match.empty()) {
    expected = version_in(if_match);
    if (!expected) {
      return problem(kInvalidRequest, "If-Match must be a version in quotes, as in an ETag");
    }
  }
  const auto before = call.sale().sale().voucher(call.voucher);
  if (!before.ok()) return problem_of(before.status());
  const absl::Status published = call.sale().publish(voucher, expected);
  if (!published.ok()) return problem_of(published);
  return voucher_answer(call, before->has_value() ? kStatusOk : kStatusCreated);
}

HttpAnswer add_stock(RouteCall& call) {
  std::int64_t delta = 0;
  BodyReader body(call.body);
  body->require("delta", body->read("delta", delta));
  if (auto wrong = body.finish()) return *std::move(wrong);
  return changed_voucher(call, call.sale().sale().add_stock(call.voucher, delta));
}

HttpAnswer close_voucher(RouteCall& call) {
  if (auto wrong = BodyReader(call.body).finish()) return *std::move(wrong);
  return changed_voucher(call, call.sale().sale().close(call.voucher));
}

HttpAnswer archive_voucher(RouteCall& call) {
  ArchiveOptions options;
  std::int64_t deletes = 0;
  BodyReader body(call.body);
  body->read("discard_dead_letters", options.discard_dead_letters);
  body->read_flag("delete", deletes);
  if (auto wrong = body.finish()) return *std::move(wrong);
  Sale& sale = call.sale().sale();
  const absl::Status archived = sale.archive(call.voucher, options);
  if (!archived.ok()) return problem_of(archived);
  Json json = {{"voucher", number_json(call.voucher)}, {"archived", true}};
  if (deletes == 0) return json_answer(json);
  const auto deleted = sale.delete_archived(call.voucher);
  if (!deleted.ok()) return problem_of(deleted.status());
  json["deleted"] = *deleted;
  return json_answer(json);
}

HttpAnswer refund_voucher(RouteCall& call) {
  OrderChangeNote note{.reason = "refunded", .actor = "operator"};
  if (auto wrong = read_change(call, note)) return *std::move(wrong);
  const auto known = call.sale().sale().voucher(call.voucher);
  if (!known.ok()) return problem_of(known.status());
  if (!known->has_value()) return unknown_voucher(call);
  // The database decides, so queued orders must be there first.
  const auto first = call.sale().sale().lane_of(call.voucher);
  if (!first.ok()) return problem_of(first.status());
  const auto begin = static_cast<std::size_t>(first->number);
  const auto count = static_cast<std::size_t>((*known)->voucher.lanes);
  const std::span<const SaleLane> lanes = call.sale().sale().lanes();
  if (count > lanes.size() - begin) {
    return problem(kUnavailable, concat("the voucher is on ", count,
                                        " lanes, and this process has opened the sale with ",
                                        lanes.size(), ": open it again"));
  }
  for (const SaleLane& lane : lanes.subspan(begin, count)) {
    const auto unstored = read_unstored_orders(call.sale().client(), lane.keys, call.voucher);
    if (!unstored.ok()) return problem_of(unstored.status());
    if (!unstored->queued.empty()) {
      return problem(kUnavailable, "orders of the voucher are queued: close it, and try again");
    }
  }
  const auto changed = call.sale().refund_all(call.voucher, note.reason, note.actor);
  if (!changed.ok()) return problem_of(changed.status());
  return json_answer({{"voucher", number_json(call.voucher)}, {"changed", *changed}});
}

// ---- Waiting lists ----------------------------------------------------------------------------

HttpAnswer wait_for_voucher(RouteCall& call) {
  UserId user;
  if (auto wrong = read_user(call, user)) return *std::move(wrong);
  const WaitResult result = call.sale().sale().wait_for(call.voucher, user);
  if (const ProblemType* const type = problem_type_of(result.outcome)) {
    return problem(*type, result.detail);
  }
  return json_answer({{"order", std::to_string(result.order)},
                      {"user", user_json(user)},
                      {"voucher", number_json(call.voucher)},
                      {"place", result.place}});
}

HttpAnswer visit_entrance(RouteCall& call) {
  UserId user;
  if (auto wrong = read_user(call, user)) return *std::move(wrong);
  const auto visit = call.service.entrance().visit(call.voucher, user);
  if (!visit.ok()) return problem_of(visit.status());
  Json json = {{"user", user_json(user)}, {"voucher", number_json(call.voucher)}};
  if (!visit->token.empty()) {
    json["purchase_token"] = visit->token;
    return json_answer(json);
  }
  json["position"] = visit->place.position;
  json["wait_ms"] = visit->place.wait_ms;
  constexpr int kStatusAccepted = 202;
  constexpr std::int64_t kMsPerSecond = 1'000;
  constexpr std::int64_t kLookAgainMaxS = 30;  // others may leave
  const std::int64_t wait_s = (visit->place.wait_ms + kMsPerSecond - 1) / kMsPerSecond;
  HttpAnswer answer = json_answer(json, kStatusAccepted);
  answer.fields.emplace_back("Retry-After", std::to_string(std::min(wait_s, kLookAgainMaxS)));
  return answer;
}

HttpAnswer leave_waiting_list(RouteCall& call) {
  if (!call.caller.may_act_for(call.user)) {
    return problem(kForbidden, "the token is another user's");
  }
  const auto has_left = call.sale().sale().leave_waiting_list(call.voucher, call.user);
  if (!has_left.ok()) return problem_of(has_left.status());
  return json_answer({{"user", user_json(call.user)}, {"left", *has_left}});
}

HttpAnswer list_waiting(RouteCall& call) {
  const auto after = call.after.empty() ? 0 : parse_int64(call.after);
  if (!after) return problem(kInvalidRequest, "the query's after must be `next` of a page");
  const auto voucher = call.sale().voucher(call.voucher);
  if (!voucher.ok()) return problem_of(voucher.status());
  if (!voucher->has_value()) return unknown_voucher(call);
  const auto users = call.sale().sale().waiting_users(call.voucher, *after, call.limit);
  if (!users.ok()) return problem_of(users.status());
  Json list = Json::array();
  for (const WaitingUser& waiting : *users) list.push_back(user_json(waiting.user));
  const bool may_have_more = users->size() == call.limit;
  Json next = may_have_more ? Json(users->back().arrival) : Json(nullptr);
  return json_answer({{"users", std::move(list)}, {"next", std::move(next)}});
}

}  // namespace rushgate::http
