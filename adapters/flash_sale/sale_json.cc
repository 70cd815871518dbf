#include "adapters/flash_sale/sale_json.h"

#include "adapters/flash_sale/field_reader.h"
#include "adapters/flash_sale/utc_time.h"
#include "engine/sale/model/voucher_terms.h"

namespace rushgate {

namespace {

using Json = nlohmann::ordered_json;

}  // namespace

// ---- Values -----------------------------------------------------------------------------------

Json number_json(std::int64_t number) {
  constexpr std::int64_t kExactMax = std::int64_t{1} << 53;
  if (number >= -kExactMax && number <= kExactMax) return number;
  return std::to_string(number);
}

Json user_json(const UserId& user) {
  return user.is_number() ? number_json(user.number()) : Json(user.name());
}

Json time_json(std::int64_t ms) { return ms == 0 ? Json(nullptr) : Json(format_utc(ms)); }

// ---- Orders -----------------------------------------------------------------------------------

std::string_view state_name(const OrderState& state) {
  if (state.order && state.location == OrderLocation::kStored) {
    return order_status_name(state.order->status);
  }
  return state.location == OrderLocation::kDeadLetter ? "failed"
                                                      : order_location_name(state.location);
}

Json to_json(const Order& order) {
  return {{"order", std::to_string(order.id)},
          {"user", user_json(order.user)},
          {"voucher", number_json(order.voucher)},
          {"state", order_status_name(order.status)},
          {"quantity", order.quantity},
          {"price_cents", order.price_cents},
          {"admitted_at", format_utc(order.admitted_at_ms)},
          {"created_at", time_json(order.created_at_ms)},
          {"due_at", time_json(order.due_at_ms)},
          {"reference", order.reference},
          {"version", order.version},
          {"keeps_stock", order.keeps_stock},
          {"keeps_allowance", order.keeps_allowance},
          {"idempotency_key", order.idempotency_key}};
}

Json to_json(const Payment& payment) {
  return {{"payment", payment.id},
          {"order", std::to_string(payment.order)},
          {"amount_cents", payment.amount_cents},
          {"state", payment_state_name(payment.state)},
          {"received_at", format_utc(payment.received_at_ms)},
          {"refunded_at", time_json(payment.refunded_at_ms)},
          {"reason", payment.reason}};
}

Json to_json(const OrderChange& change) {
  return {{"position", change.position},
          {"order", std::to_string(change.order)},
          {"from", order_status_name(change.from)},
          {"to", order_status_name(change.to)},
          {"at", format_utc(change.at_ms)},
          {"reason", change.reason},
          {"actor", change.actor}};
}

// ---- For operators ----------------------------------------------------------------------------

Json to_json(const DeadLetter& letter) {
  Json fields = Json::object();
  for (const auto& [name, value] : letter.order.fields) fields[name] = value;
  return {{"id", letter.id}, {"entry", letter.entry}, {"reason", letter.reason}, {"order", fields}};
}

Json to_json(const DiscardedLetter& discarded) {
  Json json = to_json(discarded.letter);
  json["discarded_at"] = format_utc(discarded.discarded_at_ms);
  json["why"] = discarded.why;
  return json;
}

Json to_json(const AuditProgress& progress) {
  return {{"pass", progress.pass},
          {"vouchers", progress.vouchers},
          {"vouchers_checked", progress.vouchers_checked},
          {"orders", progress.orders},
          {"orders_checked", progress.orders_checked}};
}

Json to_json(const AuditReport& report) {
  Json vouchers = Json::array();
  for (const VoucherAudit& audit : report.vouchers) {
    vouchers.push_back({{"voucher", number_json(audit.voucher)},
                        {"published", audit.published},
                        {"free", audit.free},
                        {"admitted", audit.admitted},
                        {"given_back", audit.given_back},
                        {"created", audit.created},
                        {"queued", audit.queued},
                        {"dead", audit.dead},
                        {"discarded", audit.discarded},
                        {"withheld", audit.withheld},
                        {"unpaid", audit.unpaid},
                        {"ended", audit.ended}});
  }
  const MoneyAudit& money = report.money;
  Json json = {{"passed", report.passed()},
               {"vouchers", vouchers},
               {"money",
                {{"received", money.received},
                 {"kept", money.kept},
                 {"due", money.due},
                 {"refunded", money.refunded}}},
               {"problems", report.problems},
               {"warnings", report.warnings}};
  if (!report.repairs.empty()) json["repairs"] = report.repairs;
  return json;
}

// ---- Vouchers ---------------------------------------------------------------------------------

Json to_json(const Voucher& voucher) {
  Json object = {{"id", number_json(voucher.id)}, {"title", voucher.title}};
  Json limits = Json::object();
  for (const VoucherTerm& term : kVoucherTerms) {
    Json& value = (term.is_limit ? limits : object)[std::string(term.json)];
    if (term.is_flag) {
      value = term.get(voucher) != 0;
    } else {
      value = term.get(voucher);
    }
  }
  object["limits"] = std::move(limits);
  return object;
}

Json to_json(const VoucherSummary& summary) {
  Json json = to_json(summary.voucher);
  json["version"] = summary.version;
  json["free"] = summary.free ? Json(*summary.free) : Json(nullptr);
  json["admitted"] = summary.admitted ? Json(*summary.admitted) : Json(nullptr);
  return json;
}

namespace {

/// Reads a term. find_fault() compares it with its range later.
void read_term(FieldReader& fields, const VoucherTerm& term, Voucher& voucher) {
  const std::string name(term.json);
  std::int64_t value = term.get(voucher);
  const bool is_there = term.is_time   ? fields.read_time(name, value)
                        : term.is_flag ? fields.read_flag(name, value)
                                       : fields.read(name, value);
  if (term.is_required) fields.require(name, is_there);
  term.set(voucher, value);
  if (term.get(voucher) != value) {  // the member is smaller
    fields.note(name, term.find_fault(value));
  }
}

/// Reads the terms of the object: the limits, or all others.
void read_terms(FieldReader& fields, bool are_limits, Voucher& voucher) {
  for (const VoucherTerm& term : kVoucherTerms) {
    if (term.is_limit == are_limits) read_term(fields, term, voucher);
  }
}

}  // namespace

Voucher read_voucher(const Json& object, const std::string& path, std::string& fault) {
  Voucher voucher;
  FieldReader fields(object, path, fault);
  fields.require("id", fields.read("id", voucher.id));
  fields.read("title", voucher.title);
  read_terms(fields, false, voucher);
  if (const Json* const object_of_limits = fields.find("limits")) {
    FieldReader limits(*object_of_limits, path.empty() ? "limits" : path + ".limits", fault);
    read_terms(limits, true, voucher);
    limits.finish();
  }
  fields.finish();
  if (fault.empty()) {
    if (const std::string senseless = find_fault(voucher); !senseless.empty()) {
      fields.note("", senseless);
    }
  }
  return voucher;
}

}  // namespace rushgate
