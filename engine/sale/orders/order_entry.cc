#include "engine/sale/orders/order_entry.h"

#include "engine/base/numbers.h"
#include "engine/client/reply_status.h"

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
  Order order;
  const std::string_view admitted_as =
      entry.field(kAdmittedField).value_or(entry.field(kEntryField).value_or(entry.id));
  const auto id = StreamId::parse(admitted_as);
  if (!id)
    return absl::InvalidArgumentError("\"" + std::string(admitted_as.substr(0, 64)) +
                                      "\" is not a stream id");
  order.entry = *id;
  order.admitted_at_ms = static_cast<std::int64_t>(id->ms);

  const struct {
    std::string_view name;
    std::int64_t& to;
  } numbers[] = {{"id", order.id}, {"userId", order.user}, {"voucherId", order.voucher}};
  for (const auto& [name, to] : numbers) {
    const auto number = read_number(entry, name);
    if (!number.ok()) return number.status();
    to = *number;
  }
  if (entry.field("limit")) {  // entries of other producers have none: one per user then
    const auto limit = read_number(entry, "limit");
    if (!limit.ok()) return limit.status();
    order.limit = *limit;
  }
  if (order.id <= 0) return bad_field("id", "must be positive");
  if (order.limit < 0) return bad_field("limit", "must not be negative");
  return order;
}

absl::Status for_each_entry(Client& client, std::string_view stream, StreamId after, StreamId last,
                            absl::FunctionRef<bool(const OrderEntry&)> visit,
                            BetweenPortions between_portions) {
  constexpr int kPortion = 1'000;
  while (after < last) {
    const Reply portion =
        client("XRANGE", stream, '(' + after.to_string(), last.to_string(), "COUNT", kPortion);
    if (portion.kind() != Reply::Kind::kArray)
      return to_status(portion, "reading " + std::string(stream));
    for (const Reply& element : portion.elements()) {
      const auto entry = read_entry(element);
      const auto id = entry ? StreamId::parse(entry->id) : std::nullopt;
      if (!id) return to_status(element, "reading " + std::string(stream));
      if (!visit(*entry)) return absl::OkStatus();
      after = *id;
    }
    if (portion.elements().size() < kPortion) break;
    if (const absl::Status done = between_portions(); !done.ok()) return done;
  }
  return absl::OkStatus();
}

}  // namespace rushgate
