#include "engine/sale/orders/purchases.h"

#include <algorithm>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/redis_error_code.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/holds/waiting_list.h"
#include "engine/sale/model/failure.h"

namespace rushgate {
namespace {

Outcome outcome_of(AdmissionCode code) {
  switch (code) {
    case AdmissionCode::kAccepted:
      return Outcome::kAccepted;
    case AdmissionCode::kSoldOut:
      return Outcome::kSoldOut;
    case AdmissionCode::kLimitReached:
      return Outcome::kLimitReached;
    case AdmissionCode::kDayLimitReached:
      return Outcome::kDayLimitReached;
    case AdmissionCode::kTokenRefused:
      return Outcome::kTokenRefused;
    case AdmissionCode::kNotStarted:
      return Outcome::kNotStarted;
    case AdmissionCode::kEnded:
      return Outcome::kEnded;
    case AdmissionCode::kUnknownVoucher:
      return Outcome::kUnknownVoucher;
    case AdmissionCode::kKeyReused:
      return Outcome::kKeyReused;
    case AdmissionCode::kStockMissing:
    case AdmissionCode::kRebuilding:
    case AdmissionCode::kServesFirst:
      break;
  }
  return Outcome::kOverloaded;
}

/// Returns true if a rebuild may change this result.
bool lacks_keyspace(AdmissionCode code) {
  return code == AdmissionCode::kUnknownVoucher || code == AdmissionCode::kStockMissing ||
         code == AdmissionCode::kRebuilding;
}

/// Returns true if nothing has to be done before the result is known.
bool decides(AdmissionCode code) {
  return !lacks_keyspace(code) && code != AdmissionCode::kServesFirst;
}

/// Returns the result of a request for `order` that got an error.
BuyResult buy_failure(const Reply& reply, OrderId order) {
  const absl::Status status = to_status(reply, "buying");
  BuyResult result{.detail = std::string(status.message())};
  if (has_code(reply, error_code::kOutcomeUnknown)) {
    result.outcome = Outcome::kOutcomeUnknown;
    result.order = order;
  } else if (has_code(reply, error_code::kClosed)) {
    result.outcome = Outcome::kUnavailable;
  } else {
    result.outcome = absl::IsUnavailable(status) ? Outcome::kOverloaded : Outcome::kFailed;
  }
  return result;
}

BuyResult buy_failure(const absl::Status& status) { return failure_of<BuyResult>(status); }

AdmissionRequests::Purchase purchase_of(const BuyRequest& request) {
  // No token has a space. "-" stands for none in the script's arguments.
  std::string_view token = request.purchase_token;
  const bool is_wrong = !token.empty() && (token.find(' ') != token.npos || token == "-");
  if (is_wrong) token = {};
  return {.voucher = request.voucher,
          .quantity = request.quantity,
          .reference = request.reference,
          .token = token};
}

/// Returns true for the usual request: of one piece, without any text. Such requests for one voucher
/// share calls, so this is tested often.
bool is_usual(const BuyRequest& request) {
  return request.quantity == 1 && (request.reference.size() | request.idempotency_key.size() |
                                   request.purchase_token.size()) == 0;
}

/// Returns true if both can share a call with one voucher, quantity and reference, and no token.
bool have_one_purchase(const BuyRequest& a, const BuyRequest& b) {
  return a.voucher == b.voucher && a.quantity == b.quantity && a.reference == b.reference &&
         a.purchase_token.empty() && b.purchase_token.empty();
}

/// Returns the end of the requests that can share a call with the one at `begin`.
std::size_t end_of_call(std::span<const BuyRequest> requests, std::size_t begin) {
  const BuyRequest& first = requests[begin];
  const std::size_t end_max = std::min(requests.size(), begin + AdmissionRequests::kBuyersMax);
  std::size_t end = begin + 1;
  if (is_usual(first)) {
    while (end < end_max && requests[end].voucher == first.voucher && is_usual(requests[end]))
      ++end;
    return end;
  }
  while (end < end_max && have_one_purchase(requests[end], first) &&
         requests[end].idempotency_key.empty() == first.idempotency_key.empty()) {
    ++end;
  }
  return end;
}

BuyResult waiting_users_first() {
  return {.outcome = outcome_of(AdmissionCode::kServesFirst),
          .detail = "users of the waiting list are served first"};
}

/// A rebuild from the database decides.
BuyResult undecided() {
  BuyResult result{.outcome = Outcome::kOverloaded,
                   .detail = "the keyspace lacks the voucher, or its stock"};
  result.is_partial = true;
  return result;
}

bool is_limit(Outcome outcome) {
  return outcome == Outcome::kLimitReached || outcome == Outcome::kDayLimitReached;
}

/// Not for kServesFirst.
BuyResult result_of(const AdmissionReply& admission) {
  const Outcome outcome = outcome_of(admission.code);
  if (outcome != Outcome::kAccepted) return {.outcome = outcome};
  return {.outcome = outcome, .order = admission.order, .is_repeated = admission.is_repetition};
}

}  // namespace

Purchases::Purchases(const Parts& parts, const PurchaseOptions& options)
    : client_(parts.client),
      stores_(parts.stores),
      keys_(parts.keys),
      ids_(parts.ids),
      queued_(parts.queued),
      owner_(parts.owner),
      vouchers_(parts.vouchers),
      changes_(parts.changes),
      requests_(client_, keys_, options.request_ttl_ms),
      custom_(options.admission ? std::make_unique<CustomAdmissionRequests>(
                                      client_, keys_, *options.admission, options.request_ttl_ms)
                                : nullptr) {
  // A user's own script decides on one buyer. The embedded engine decides faster than callers can
  // join. A queue timeout belongs to each single request.
  const bool may_join =
      options.is_remote && custom_ == nullptr && options.client.queue_timeout_ms == 0;
  if (may_join) groups_.emplace(client_, requests_, options.client.wait);
  if (options.names_order_at_limit) recent_ = std::make_unique<RecentOrders>();
}

absl::Status Purchases::load() { return custom_ ? custom_->load() : absl::OkStatus(); }

absl::Status Purchases::check(const Voucher& voucher) const {
  return custom_ ? custom_->check(voucher) : absl::OkStatus();
}

void Purchases::forget_recent() {
  if (recent_) recent_->clear();
}

/// Returns true if the request itself has a fault.
bool Purchases::has_fault(const BuyRequest& request) const {
  if (is_usual(request) && request.user.is_number()) return false;
  return request.quantity < 1 || request.quantity > BuyRequest::kQuantityMax ||
         request.reference.size() > Order::kReferenceBytesMax ||
         request.idempotency_key.size() > Order::kIdempotencyKeyBytesMax ||
         request.purchase_token.size() > BuyRequest::kPurchaseTokenBytesMax ||
         (custom_ && !AdmissionRequests::is_plain(purchase_of(request))) ||
         (!request.user.is_number() && !find_fault(request.user).empty());
}

/// Returns why this user cannot buy; empty if nothing is wrong.
std::string Purchases::find_fault(const UserId& user) const {
  if (user.is_number() || stores_.orders.takes_user_names()) return user.find_fault();
  return "the order store takes numbers as user ids, no names";
}

/// Describes the fault of a request that has one.
std::string Purchases::describe_fault(const BuyRequest& request) const {
  if (request.quantity < 1 || request.quantity > BuyRequest::kQuantityMax) {
    return concat("the quantity must be from 1 to ", BuyRequest::kQuantityMax, ", not ",
                  request.quantity);
  }
  if (request.reference.size() > Order::kReferenceBytesMax) {
    return concat("the reference must have at most ", Order::kReferenceBytesMax, " bytes, not ",
                  request.reference.size());
  }
  if (request.idempotency_key.size() > Order::kIdempotencyKeyBytesMax) {
    return concat("the idempotency key must have at most ", Order::kIdempotencyKeyBytesMax,
                  " bytes, not ", request.idempotency_key.size());
  }
  if (request.purchase_token.size() > BuyRequest::kPurchaseTokenBytesMax) {
    return concat("the purchase token must have at most ", BuyRequest::kPurchaseTokenBytesMax,
                  " bytes, not ", request.purchase_token.size());
  }
  if (std::string fault = find_fault(request.user); !fault.empty()) return fault;
  return "a custom admission script sells one piece, and takes no reference and no token";
}

/// Reads the reply that most requests get: a code that decides, and nothing else. Returns false for any
/// other reply, and leaves the result as it is.
inline bool Purchases::read_usual(const Reply& reply, OrderId order, BuyResult& result) const {
  if (custom_ != nullptr) return false;
  const auto code = AdmissionReply::code_of(reply);
  if (!code || !decides(*code)) return false;
  result.outcome = outcome_of(*code);
  if (result.outcome == Outcome::kAccepted) result.order = order;
  return true;
}

/// Sets the result of a request from its reply.
inline void Purchases::conclude(const Reply& reply, const BuyRequest& request, OrderId order,
                                Call& call, BuyResult& result) {
  if (!read_usual(reply, order, result)) result = conclude_other(reply, request, order, call);
}

BuyResult Purchases::buy(const BuyRequest& request) {
  Call call;
  BuyResult result = decide(request, call);
  if (result.is_partial) complete(request, result);
  return result;
}

BuyResult Purchases::decide(const BuyRequest& request, Call& call) {
  PurchaseCounters::Counting counting = counters_.begin(1);
  const auto count = [&](BuyResult refusal) {
    counting.add(request.voucher, refusal);
    return refusal;
  };
  if (has_fault(request)) {
    return count({.outcome = Outcome::kFailed, .detail = describe_fault(request)});
  }
  const auto order = ids_.next_id();
  if (!order.ok()) return count(buy_failure(order.status()));
  BuyResult result;
  conclude(admit(request, *order), request, *order, call, result);
  if (leaves_id_unused(result) || !call.unused.empty()) ids_.give_back({&*order, 1});
  call.unused.clear();
  if (result.outcome == Outcome::kAccepted) queued_.add({&result.order, 1});
  counting.add(request.voucher, result);
  if (recent_ || result.is_repeated) note_order(request, result);
  return result;
}

/// Returns true if the order id that was drawn for the request is used nowhere: it was refused, or has
/// the order of an earlier one. A custom script that refused it may have kept the id.
bool Purchases::leaves_id_unused(const BuyResult& result) const {
  if (custom_ != nullptr) return false;
  switch (result.outcome) {
    case Outcome::kAccepted:
      return result.is_repeated;
    case Outcome::kSoldOut:
    case Outcome::kLimitReached:
    case Outcome::kDayLimitReached:
    case Outcome::kTokenRefused:
    case Outcome::kNotStarted:
    case Outcome::kEnded:
    case Outcome::kUnknownVoucher:
    case Outcome::kKeyReused:
    case Outcome::kRefused:
      return true;
    case Outcome::kOverloaded:
    case Outcome::kUnavailable:
    case Outcome::kOutcomeUnknown:
    case Outcome::kFailed:
      break;
  }
  return false;
}

/// Remembers the order of an accepted purchase, and names one that is remembered to a user at the limit.
/// Marks a result that the database completes.
void Purchases::note_order(const BuyRequest& request, BuyResult& result) {
  if (result.is_repeated) result.is_partial = true;
  if (!recent_) return;
  if (result.outcome == Outcome::kAccepted) {
    recent_->add(request.voucher, request.user, result.order);
  } else if (is_limit(result.outcome)) {
    result.order = recent_->find(request.voucher, request.user);
    result.is_partial = result.order == 0;
  }
}

void Purchases::complete(const BuyRequest& request, BuyResult& result) {
  if (!std::exchange(result.is_partial, false)) return;
  if (result.is_repeated) {
    const auto status = changes_.find_status(result.order);
    if (status.ok()) result.status = *status;
  } else if (is_limit(result.outcome)) {
    name_order(request.voucher, request.user, result);
  } else {
    result = buy(request);  // it was not decided
  }
}

/// Looks for an order that a user at the limit has.
void Purchases::name_order(VoucherId voucher, const UserId& user, BuyResult& result) {
  const auto stored = stores_.orders.list({.user = user, .voucher = voucher});
  if (!stored.ok() || stored->empty()) return;
  result.order = stored->back().id;
  recent_->add(voucher, user, result.order);
}

Reply Purchases::admit(const BuyRequest& request, OrderId order) {
  const AdmissionRequests::Buyer buyer{&request.user, order, request.idempotency_key};
  const bool may_join =
      groups_ && buyer.idempotency_key.empty() && AdmissionRequests::is_plain(purchase_of(request));
  // A caller that opened a batch may wait for space in the queue, which only callbacks can free.
  if (may_join && !client_.inside_callback()) {
    Reply reply = groups_->admit(request.voucher, buyer);
    if (!has_code(reply, redis_error_code::kNoScript)) return reply;
  }
  return client_.run(script(), [&] {
    return custom_ ? custom_->make(request.voucher, buyer)
                   : requests_.make(purchase_of(request), {&buyer, 1});
  });
}

const Script& Purchases::script() const { return custom_ ? custom_->script() : admission_script(); }

std::vector<BuyResult> Purchases::buy_all(std::span<const BuyRequest> requests) {
  Call call;
  std::vector<BuyResult> results = decide_all(requests, call);
  for (std::size_t i = 0; call.may_be_partial && i < results.size(); ++i) {
    complete(requests[i], results[i]);
  }
  return results;
}

std::vector<BuyResult> Purchases::decide_all(std::span<const BuyRequest> requests) {
  Call call{.reads_database = false};
  return decide_all(requests, call);
}

std::vector<BuyResult> Purchases::decide_all(std::span<const BuyRequest> requests, Call& call) {
  const auto is_faulty = [this](const BuyRequest& request) { return has_fault(request); };
  if (std::ranges::any_of(requests, is_faulty)) {
    call.may_be_partial = true;
    return decide_each(requests, call);
  }
  PurchaseCounters::Counting counting = counters_.begin(requests.size());
  std::vector<BuyResult> results(requests.size());
  std::vector<OrderId> orders(requests.size());
  std::size_t drawn = 0;
  if (const absl::Status ids = ids_.next_ids(orders, drawn); !ids.ok()) {
    orders.resize(drawn);
    std::fill(results.begin() + static_cast<std::ptrdiff_t>(drawn), results.end(),
              buy_failure(ids));
    counting.add(requests[drawn].voucher, std::span(results).subspan(drawn));
  }
  std::vector<AdmissionRequests::Buyer> buyers;
  buyers.reserve(orders.size());
  for (std::size_t i = 0; i < orders.size(); ++i) {
    buyers.push_back({&requests[i].user, orders[i], requests[i].idempotency_key});
  }

  std::vector<std::size_t> begins;
  const std::vector<Request> calls = make_calls(requests.first(buyers.size()), buyers, begins);
  const std::vector<Reply> replies = client_.run_all(script(), calls);
  for (std::size_t c = 0; c < replies.size(); ++c) {
    const std::size_t begin = begins[c];
    const std::size_t count = begins[c + 1] - begin;
    const Reply& reply = replies[c];
    const bool is_list = count > 1 && reply.is_aggregate() && reply.elements().size() == count;
    for (std::size_t i = 0; i < count; ++i) {
      conclude(is_list ? reply.elements()[i] : reply, requests[begin + i], buyers[begin + i].order,
               call, results[begin + i]);
    }
    counting.add(requests[begin].voucher, std::span(results).subspan(begin, count));
  }
  std::vector<OrderId> unused = std::move(call.unused);
  unused.reserve(results.size());
  orders.clear();
  call.may_be_partial = recent_ != nullptr;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].outcome == Outcome::kAccepted) {
      orders.push_back(results[i].order);
      call.may_be_partial = call.may_be_partial || results[i].is_repeated;
    }
    if (leaves_id_unused(results[i])) unused.push_back(buyers[i].order);
  }
  queued_.add(orders);
  ids_.give_back(unused);
  for (std::size_t i = 0; call.may_be_partial && i < buyers.size(); ++i) {
    if (results[i].is_repeated) counting.add_repeated(requests[i].voucher);
    note_order(requests[i], results[i]);
  }
  return results;
}

/// Decides on one after the other. For requests that are not all valid.
std::vector<BuyResult> Purchases::decide_each(std::span<const BuyRequest> requests, Call& call) {
  std::vector<BuyResult> results;
  results.reserve(requests.size());
  for (const BuyRequest& request : requests) results.push_back(decide(request, call));
  return results;
}

/// Builds the calls. Neighbours that want the same voucher share a request of the sale's own
/// script. `begins` gets the index of each call's first buyer, and the number of buyers.
std::vector<Request> Purchases::make_calls(std::span<const BuyRequest> requests,
                                           std::span<const AdmissionRequests::Buyer> buyers,
                                           std::vector<std::size_t>& begins) const {
  std::vector<Request> calls;
  for (std::size_t i = 0; i < buyers.size();) {
    const std::size_t end = custom_ ? i + 1 : end_of_call(requests, i);
    begins.push_back(i);
    calls.push_back(custom_ ? custom_->make(requests[i].voucher, buyers[i])
                            : requests_.make(purchase_of(requests[i]), buyers.subspan(i, end - i)));
    i = end;
  }
  begins.push_back(buyers.size());
  return calls;
}

BuyResult Purchases::read_result(const Reply& reply, OrderId order) const {
  if (custom_) {
    if (auto decided = custom_->read_custom(reply, order)) return *std::move(decided);
  }
  const auto admission = read_admission(reply, order);
  if (!admission) return buy_failure(reply, order);
  const bool serves_first = admission->code == AdmissionCode::kServesFirst;
  return serves_first ? waiting_users_first() : result_of(*admission);
}

BuyResult Purchases::conclude_other(const Reply& reply, const BuyRequest& request, OrderId order,
                                    Call& call) {
  const auto admission = read_admission(reply, order);
  if (admission && lacks_keyspace(admission->code)) {
    return buy_after_rebuild(admission->code, request, order, call);
  }
  if (admission && admission->code == AdmissionCode::kServesFirst) {
    return buy_after_waiting(request, order, call);
  }
  return read_result(reply, order);
}

/// Returns the result of a request that the admission script did not accept. Notes that its order id is
/// unused, whatever the outcome.
BuyResult Purchases::refuse(BuyResult result, OrderId order, Call& call) const {
  if (custom_ == nullptr && !leaves_id_unused(result)) call.unused.push_back(order);
  return result;
}

/// Repeats a request that was not accepted.
BuyResult Purchases::buy_again(const BuyRequest& request, OrderId order, Call& call) {
  const Reply reply = admit(request, order);
  const auto admission = read_admission(reply, order);
  BuyResult result = read_result(reply, order);
  const bool is_refused = admission && outcome_of(admission->code) == Outcome::kOverloaded;
  if (is_refused) return refuse(std::move(result), order, call);
  return result;
}

/// Serves waiting users, and repeats the request. No call serves more than one portion of a long list:
/// the next ones and the workers go on. Until then the script would only refuse once more.
BuyResult Purchases::buy_after_waiting(const BuyRequest& request, OrderId order, Call& call) {
  if (!call.may_serve) return refuse(waiting_users_first(), order, call);
  const auto are_all_served = serve_waiting_portion(client_, keys_, request.voucher);
  if (!are_all_served.ok()) return refuse(buy_failure(are_all_served.status()), order, call);
  call.may_serve = *are_all_served;
  return call.may_serve ? buy_again(request, order, call)
                        : refuse(waiting_users_first(), order, call);
}

/// Rebuilds a voucher that the keyspace lacks, wholly or in part, and repeats the request.
BuyResult Purchases::buy_after_rebuild(AdmissionCode lacks, const BuyRequest& request,
                                       OrderId order, Call& call) {
  const BuyResult unknown{.outcome = Outcome::kUnknownVoucher};
  const auto failed = [&](const absl::Status& status) {
    return refuse(buy_failure(status), order, call);
  };
  if (lacks == AdmissionCode::kUnknownVoucher) {
    const auto is_on_sale = owner_.is_on_sale(client_, request.voucher);
    if (!is_on_sale.ok()) return failed(is_on_sale.status());
    if (!*is_on_sale) {
      if (request.idempotency_key.empty()) return unknown;
      if (!call.reads_database) return refuse(undecided(), order, call);
      // The key may be of another voucher, or of an archived one.
      const absl::Status restored = vouchers_.restore_requests();
      return restored.ok() ? buy_again(request, order, call) : failed(restored);
    }
  }
  if (!call.reads_database) return refuse(undecided(), order, call);
  const absl::Status rebuilt = vouchers_.rebuild(request.voucher);
  if (absl::IsNotFound(rebuilt)) return unknown;
  return rebuilt.ok() ? buy_again(request, order, call) : failed(rebuilt);
}

// ---- Waiting ----

WaitResult Purchases::wait_for(VoucherId voucher, const UserId& user) {
  const auto failed = failure_of<WaitResult>;
  if (const std::string fault = find_fault(user); !fault.empty()) {
    return failed(absl::InvalidArgumentError(fault));
  }
  // The scripts that serve the list would not ask the user's own script.
  if (custom_ != nullptr) return {.outcome = WaitOutcome::kNoWaitingList};
  const auto order = ids_.next_id();
  if (!order.ok()) return failed(order.status());
  bool may_be_known = false;
  auto result = join_or_rebuild(voucher, user, *order, may_be_known);
  if (!may_be_known) ids_.give_back({&*order, 1});
  return result.ok() ? *std::move(result) : failed(result.status());
}

/// Joins the waiting list. Rebuilds a voucher that the keyspace lacks, and tries again. Sets
/// `may_be_known` unless the keyspace has not taken the order id for certain.
absl::StatusOr<WaitResult> Purchases::join_or_rebuild(VoucherId voucher, const UserId& user,
                                                      OrderId order, bool& may_be_known) {
  const auto join = [&] {
    auto joined = join_waiting_list(client_, keys_, voucher, user, order);
    may_be_known = !joined.ok() || joined->order == order;
    return joined;
  };
  const WaitResult unknown{.outcome = WaitOutcome::kUnknownVoucher};
  auto result = join();
  if (!result.ok()) return result;
  if (result->outcome == WaitOutcome::kUnknownVoucher) {
    ASSIGN_OR_RETURN(const auto is_on_sale, owner_.is_on_sale(client_, voucher));
    if (!is_on_sale) return unknown;
  } else if (result->outcome != WaitOutcome::kOverloaded) {
    return result;
  }
  const absl::Status rebuilt = vouchers_.rebuild(voucher);
  if (absl::IsNotFound(rebuilt)) return unknown;
  if (!rebuilt.ok()) return rebuilt;
  return join();
}

}  // namespace rushgate
