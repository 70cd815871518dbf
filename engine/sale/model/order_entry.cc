#include "engine/sale/model/order_entry.h"

#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"

namespace rushgate {
namespace {

absl::Status bad_field(std::string_view name, std::string_view what) {
  return absl::InvalidArgumentError("field " + std::string(name) + ' ' + std::string(what));
}

absl::StatusOr<std::int64_t> read_number(const OrderEntry& entry, std::string_view name) {
  const auto text = entry.field(name);
  if (!text) return bad_field(name, "is missing");
  const auto number = parse_int64(*text);
  if (!number)
    return bad_field(name, "is not a number: \"" + std::string(text->substr(0, 64)) + '"');
  return *number;
}

struct NumberField {
  std::string_view name;
  std::int64_t& to;
};

/// Reads a number that entries of other producers lack. Leaves `to` unchanged then.
absl::Status read_optional(const OrderEntry& entry, const NumberField& field) {
  if (!entry.field(field.name)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto number, read_number(entry, field.name));
  field.to = number;
  return absl::OkStatus();
}

absl::StatusOr<UserId> read_user(const OrderEntry& entry) {
  constexpr std::string_view kUserField = "userId";
  const auto text = entry.field(kUserField);
  if (!text) return bad_field(kUserField, "is missing");
  UserId user(*text);
  if (const std::string fault = user.find_fault(); !fault.empty()) {
    return bad_field(kUserField, "is no user: " + fault);
  }
  return user;
}

/// Reads the order's id, its user and its voucher.
absl::Status read_whose(const OrderEntry& entry, Order& order) {
  for (const NumberField& field : {NumberField{"id", order.id}, {"voucherId", order.voucher}}) {
    ASSIGN_OR_RETURN(const auto number, read_number(entry, field.name));
    field.to = number;
  }
  ASSIGN_OR_RETURN(order.user, read_user(entry));
  return absl::OkStatus();
}

/// Returns the id under which the entry was first appended.
absl::StatusOr<StreamId> read_first_id(const OrderEntry& entry) {
  const std::string_view admitted_as =
      entry.field(kAdmittedField).value_or(entry.field(kEntryField).value_or(entry.id));
  const auto id = StreamId::parse(admitted_as);
  if (!id)
    return absl::InvalidArgumentError("\"" + std::string(admitted_as.substr(0, 64)) +
                                      "\" is not a stream id");
  return *id;
}

std::string text_of(const OrderEntry& entry, std::string_view name) {
  return std::string(entry.field(name).value_or(""));
}

absl::StatusOr<OrderEvent::Kind> read_kind(std::string_view name) {
  using Kind = OrderEvent::Kind;
  for (const Kind kind : {Kind::kPaid, Kind::kSurplusPayment, Kind::kCancelled, Kind::kUsed,
                          Kind::kRefundBegun, Kind::kPaymentRefunded}) {
    if (order_event_name(kind) == name) return kind;
  }
  return bad_field(kEventField, "is no known event: \"" + std::string(name.substr(0, 64)) + '"');
}

}  // namespace

std::optional<std::string_view> OrderEntry::field(std::string_view name) const {
  for (const auto& [its_name, value] : fields) {
    if (its_name == name) return value;
  }
  return std::nullopt;
}

std::optional<OrderEntry> read_entry(const Reply& reply) {
  if (!reply.is_aggregate() || reply.elements().size() != 2 || !reply.elements()[0].is_text())
    return std::nullopt;
  OrderEntry entry;
  entry.id = reply.elements()[0].text();
  const Reply& fields = reply.elements()[1];
  entry.deleted = fields.is_nil();
  if (entry.deleted) return entry;
  if (!fields.is_aggregate() || fields.elements().size() % 2 != 0) return std::nullopt;
  entry.fields.reserve(fields.elements().size() / 2);
  for (std::size_t i = 0; i < fields.elements().size(); i += 2) {
    const Reply& name = fields.elements()[i];
    const Reply& value = fields.elements()[i + 1];
    if (!name.is_text() || !value.is_text()) return std::nullopt;
    entry.fields.emplace_back(name.text(), value.text());
  }
  return entry;
}

absl::StatusOr<Order> read_order(const OrderEntry& entry) {
  if (is_event(entry)) return bad_field(kEventField, "is there: not an order");
  Order order;
  ASSIGN_OR_RETURN(const auto id, read_first_id(entry));
  order.entry = id;
  order.admitted_at_ms = static_cast<std::int64_t>(id.ms);

  RETURN_IF_ERROR(read_whose(entry, order));
  // Entries of other producers have none of these: one piece per user, then.
  const NumberField optional[] = {
      {"limit", order.limit},       {"version", order.version},
      {"price", order.price_cents}, {"quantity", order.quantity},
      {"due", order.due_at_ms},     {kKeyUntilField, order.key_expires_at_ms}};
  for (const NumberField& field : optional) {
    RETURN_IF_ERROR(read_optional(entry, field));
  }
  order.reference = text_of(entry, "reference");
  order.idempotency_key = text_of(entry, kKeyField);
  if (order.due_at_ms > 0) order.status = OrderStatus::kUnpaid;
  if (order.id <= 0) return bad_field("id", "must be positive");
  if (order.limit < 0) return bad_field("limit", "must not be negative");
  if (order.quantity <= 0) return bad_field("quantity", "must be positive");
  return order;
}

absl::StatusOr<OrderEvent> read_event(const OrderEntry& entry) {
  OrderEvent event;
  const auto name = entry.field(kEventField);
  if (!name) {
    ASSIGN_OR_RETURN(event.order, read_order(entry));
    event.at_ms = event.order.admitted_at_ms;
    return event;
  }
  ASSIGN_OR_RETURN(const auto kind, read_kind(*name));
  event.kind = kind;
  ASSIGN_OR_RETURN(const auto id, read_first_id(entry));
  event.order.entry = id;
  event.at_ms = static_cast<std::int64_t>(id.ms);
  std::int64_t keeps = 0;
  RETURN_IF_ERROR(read_whose(entry, event.order));
  const NumberField optional[] = {
      {"amount", event.payment.amount_cents}, {"keeps", keeps}, {kAtField, event.at_ms}};
  for (const NumberField& field : optional) {
    RETURN_IF_ERROR(read_optional(entry, field));
  }
  set_keeps(keeps, event.order);
  event.payment.id = text_of(entry, "payment");
  // A dead letter has its own reason in front of the event's.
  for (const auto& [field, value] : entry.fields) {
    if (field == "reason") event.reason = value;
  }
  if (event.kind == OrderEvent::Kind::kPaid) event.reason = paid_by(event.payment.id);
  event.actor = text_of(entry, "actor");
  return event;
}

}  // namespace rushgate
