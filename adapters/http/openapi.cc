#include "adapters/http/openapi.h"

#include <algorithm>
#include <utility>

#include "adapters/flash_sale/json_text.h"
#include "adapters/http/route.h"
#include "engine/core/base/concat.h"
#include <rushgate/engine.h>

namespace rushgate::http {
namespace {

/// The schemas of all bodies. An integer may be a string in requests; in replies it is one beyond
/// 2^53.
constexpr std::string_view kSchemas = R"json({
  "Integer": {"oneOf": [{"type": "integer"}, {"type": "string", "pattern": "^-?[0-9]+$"}]},
  "OrderId": {"type": "string", "pattern": "^[1-9][0-9]*$"},
  "User": {"description": "A number, or a name without spaces of at most 64 bytes.",
           "type": ["integer", "string"], "maxLength": 64},
  "Time": {"description": "Milliseconds since 1970, or RFC 3339 with any offset.",
           "type": ["integer", "string"]},
  "Instant": {"type": "string", "format": "date-time"},
  "OptionalInstant": {"type": ["string", "null"], "format": "date-time"},
  "OrderState": {"enum": ["queued", "failed", "created", "unpaid", "paid", "used", "refunding",
                          "cancelled", "refunded", null]},
  "Next": {"description": "The `after` of the next page; null: this was the last.",
           "type": ["integer", "string", "null"]},

  "VoucherTerms": {"examples": [{"title": "Tea", "stock": 100, "begin_ms": "2024-11-11T00:00:00+08:00",
    "end_ms": "2999-01-01T00:00:00Z", "price_cents": 250, "limits": {"per_user": 2}}],
    "type": "object", "required": ["stock", "begin_ms", "end_ms"],
    "additionalProperties": false, "properties": {
      "version": {"description": "Ignored, as the next two, so that the object of a GET can be sent."},
      "free": {}, "admitted": {},
      "id": {"$ref": "#/components/schemas/Integer"}, "title": {"type": "string"},
      "stock": {"$ref": "#/components/schemas/Integer"},
      "begin_ms": {"$ref": "#/components/schemas/Time"}, "end_ms": {"$ref": "#/components/schemas/Time"},
      "price_cents": {"$ref": "#/components/schemas/Integer"},
      "payment_ms": {"$ref": "#/components/schemas/Integer"},
      "restock": {"type": "boolean"}, "restore_allowance": {"type": "boolean"},
      "waiting_max": {"$ref": "#/components/schemas/Integer"},
      "needs_token": {"description": "Whether a purchase needs a purchase token.", "type": "boolean"},
      "lanes": {"$ref": "#/components/schemas/Integer"},
      "limits": {"type": "object", "additionalProperties": false, "properties": {
        "total": {"$ref": "#/components/schemas/Integer"},
        "per_user": {"$ref": "#/components/schemas/Integer"},
        "per_user_day": {"$ref": "#/components/schemas/Integer"},
        "utc_offset_minutes": {"$ref": "#/components/schemas/Integer"}}}}},
  "Voucher": {"type": "object", "required": ["id", "title", "stock", "begin_ms", "end_ms",
      "price_cents", "payment_ms", "restock", "restore_allowance", "waiting_max", "needs_token", "lanes", "limits", "version",
      "free", "admitted"],
    "additionalProperties": false, "properties": {
      "id": {"$ref": "#/components/schemas/Integer"}, "title": {"type": "string"},
      "stock": {"type": "integer"}, "begin_ms": {"type": "integer"}, "end_ms": {"type": "integer"},
      "price_cents": {"type": "integer"}, "payment_ms": {"type": "integer"},
      "restock": {"type": "boolean"}, "restore_allowance": {"type": "boolean"},
      "waiting_max": {"type": "integer"}, "needs_token": {"type": "boolean"}, "lanes": {"type": "integer"},
      "limits": {"type": "object", "required": ["total", "per_user", "per_user_day",
          "utc_offset_minutes"], "additionalProperties": false, "properties": {
        "total": {"type": "integer"}, "per_user": {"type": "integer"},
        "per_user_day": {"type": "integer"}, "utc_offset_minutes": {"type": "integer"}}},
      "version": {"description": "The number in the ETag.", "type": "integer"},
      "free": {"description": "Pieces; null while the keyspace lacks the voucher.",
               "type": ["integer", "null"]},
      "admitted": {"description": "Orders accepted since the first version.",
                   "type": ["integer", "null"]}}},
  "VoucherList": {"type": "object", "required": ["vouchers", "next"], "additionalProperties": false,
    "properties": {
      "vouchers": {"type": "array", "items": {"$ref": "#/components/schemas/Voucher"}},
      "next": {"$ref": "#/components/schemas/Next"}}},
  "StockChange": {"examples": [{"delta": 50}],
    "type": "object", "required": ["delta"], "additionalProperties": false,
    "properties": {"delta": {"$ref": "#/components/schemas/Integer"}}},
  "Archiving": {"examples": [{"discard_dead_letters": "refunded by hand"}],
    "type": "object", "additionalProperties": false, "properties": {
    "discard_dead_letters": {"description": "Discards the dead letters, for this reason.",
                             "type": "string"},
    "delete": {"description": "Deletes the archived orders too.", "type": "boolean"}}},
  "Archived": {"type": "object", "required": ["voucher", "archived"], "additionalProperties": false,
    "properties": {"voucher": {"$ref": "#/components/schemas/Integer"}, "archived": {"const": true},
      "deleted": {"description": "Orders, with `delete`.", "type": "integer"}}},
  "RefundedVoucher": {"type": "object", "required": ["voucher", "changed"],
    "additionalProperties": false, "properties": {
      "voucher": {"$ref": "#/components/schemas/Integer"},
      "changed": {"description": "Orders refunded or cancelled by this request.",
                  "type": "integer"}}},

  "Purchase": {"examples": [{"user": "anna", "quantity": 1, "reference": "till 4"}, {"user": "9007199254740993"}],
    "type": "object", "required": ["user"], "additionalProperties": false,
    "properties": {
      "user": {"$ref": "#/components/schemas/User"},
      "quantity": {"$ref": "#/components/schemas/Integer"},
      "reference": {"description": "Kept with the order; at most 64 bytes.", "type": "string"},
      "purchase_token": {"description": "The user's, for a voucher that needs one; at most 64 bytes.",
                         "type": "string"}}},
  "AcceptedOrder": {"type": "object", "required": ["order", "user", "voucher", "state", "quantity",
      "repeated"], "additionalProperties": false, "properties": {
      "order": {"$ref": "#/components/schemas/OrderId"},
      "user": {"$ref": "#/components/schemas/User"},
      "voucher": {"$ref": "#/components/schemas/Integer"},
      "state": {"$ref": "#/components/schemas/OrderState"},
      "quantity": {"type": "integer"}, "reference": {"type": "string"},
      "repeated": {"description": "The order was accepted before, with the same Idempotency-Key.",
                   "type": "boolean"}}},
  "Waiting": {"examples": [{"user": "anna"}],
    "type": "object", "required": ["user"], "additionalProperties": false,
    "properties": {"user": {"$ref": "#/components/schemas/User"}}},
  "Place": {"type": "object", "required": ["order", "user", "voucher", "place"],
    "additionalProperties": false, "properties": {
      "order": {"description": "The order that the user will get.",
                "$ref": "#/components/schemas/OrderId"},
      "user": {"$ref": "#/components/schemas/User"},
      "voucher": {"$ref": "#/components/schemas/Integer"},
      "place": {"description": "From 1.", "type": "integer"}}},
  "Entered": {"type": "object", "required": ["user", "voucher", "purchase_token"],
    "additionalProperties": false, "properties": {
      "user": {"$ref": "#/components/schemas/User"},
      "voucher": {"$ref": "#/components/schemas/Integer"},
      "purchase_token": {"description": "Valid for five minutes, for one purchase.",
                         "type": "string"}}},
  "Queued": {"type": "object", "required": ["user", "voucher", "position", "wait_ms"],
    "additionalProperties": false, "properties": {
      "user": {"$ref": "#/components/schemas/User"},
      "voucher": {"$ref": "#/components/schemas/Integer"},
      "position": {"description": "From 1: the next to enter.", "type": "integer"},
      "wait_ms": {"description": "Until the user enters, as estimated.", "type": "integer"}}},
  "Left": {"type": "object", "required": ["user", "left"], "additionalProperties": false,
    "properties": {"user": {"$ref": "#/components/schemas/User"}, "left": {"type": "boolean"}}},
  "UserList": {"type": "object", "required": ["users", "next"], "additionalProperties": false,
    "properties": {
      "users": {"type": "array", "items": {"$ref": "#/components/schemas/User"}},
      "next": {"$ref": "#/components/schemas/Next"}}},

  "Order": {"type": "object", "required": ["order", "state"], "properties": {
      "order": {"$ref": "#/components/schemas/OrderId"},
      "user": {"$ref": "#/components/schemas/User"},
      "voucher": {"$ref": "#/components/schemas/Integer"},
      "state": {"$ref": "#/components/schemas/OrderState"},
      "quantity": {"type": "integer"}, "price_cents": {"type": "integer"},
      "admitted_at": {"$ref": "#/components/schemas/Instant"},
      "created_at": {"$ref": "#/components/schemas/OptionalInstant"},
      "due_at": {"$ref": "#/components/schemas/OptionalInstant"},
      "reference": {"type": "string"}, "version": {"type": "integer"},
      "keeps_stock": {"type": "boolean"}, "keeps_allowance": {"type": "boolean"},
      "idempotency_key": {"type": "string"},
      "reason": {"description": "Why it failed.", "type": "string"}}},
  "OrderWithHistory": {"allOf": [{"$ref": "#/components/schemas/Order"}], "type": "object",
    "required": ["payments", "history"], "properties": {
      "payments": {"type": "array", "items": {"$ref": "#/components/schemas/Payment"}},
      "history": {"type": "array", "items": {"$ref": "#/components/schemas/OrderChange"}}}},
  "OrderList": {"type": "object", "required": ["orders", "next"], "additionalProperties": false,
    "properties": {
      "orders": {"type": "array", "items": {"$ref": "#/components/schemas/Order"}},
      "next": {"$ref": "#/components/schemas/Next"}}},
  "Counts": {"type": "object", "required": ["stock", "holds", "paid", "stored", "age_ms"],
    "additionalProperties": false, "properties": {
      "stock": {"description": "Free pieces.", "type": "integer"},
      "holds": {"description": "Unpaid orders.", "type": "integer"},
      "paid": {"description": "Paid orders, used ones included.", "type": "integer"},
      "stored": {"description": "Orders in the database, in any state.", "type": "integer"},
      "age_ms": {"description": "Milliseconds since counting began: below 100, unless counting takes longer, as with some hundred thousand orders.",
        "type": "integer"}}},
  "ChangeList": {"type": "object", "required": ["changes", "next"], "additionalProperties": false,
    "properties": {
      "changes": {"type": "array", "items": {"$ref": "#/components/schemas/OrderChange"}},
      "next": {"$ref": "#/components/schemas/Next"}}},
  "OrderChange": {"type": "object", "required": ["position", "order", "from", "to", "at", "reason",
      "actor"], "additionalProperties": false, "properties": {
      "position": {"type": "integer"}, "order": {"$ref": "#/components/schemas/OrderId"},
      "from": {"$ref": "#/components/schemas/OrderState"},
      "to": {"$ref": "#/components/schemas/OrderState"},
      "at": {"$ref": "#/components/schemas/Instant"},
      "reason": {"type": "string"}, "actor": {"type": "string"}}},

  "PaymentNotice": {"examples": [{"payment": "pi_3MtwBw", "amount_cents": 250}],
    "type": "object", "required": ["payment", "amount_cents"],
    "additionalProperties": false, "properties": {
      "payment": {"description": "The provider's id.", "type": "string", "maxLength": 64},
      "amount_cents": {"$ref": "#/components/schemas/Integer"}}},
  "Reason": {"examples": [{"reason": "bought twice", "actor": "operator anna"}],
    "type": "object", "additionalProperties": false, "properties": {
    "reason": {"type": "string"}, "actor": {"type": "string"}}},
  "Actor": {"examples": [{"actor": "till 4"}],
    "type": "object", "additionalProperties": false, "properties": {
    "actor": {"type": "string"}}},
  "Changed": {"type": "object", "required": ["order", "state", "repeated"],
    "additionalProperties": false, "properties": {
      "order": {"$ref": "#/components/schemas/OrderId"},
      "state": {"$ref": "#/components/schemas/OrderState"},
      "repeated": {"description": "The same call had this outcome before.", "type": "boolean"}}},
  "Payment": {"type": "object", "required": ["payment", "order", "amount_cents", "state",
      "received_at", "refunded_at", "reason"], "additionalProperties": false, "properties": {
      "payment": {"type": "string"}, "order": {"$ref": "#/components/schemas/OrderId"},
      "amount_cents": {"type": "integer"}, "state": {"enum": ["kept", "due", "refunded"]},
      "received_at": {"$ref": "#/components/schemas/Instant"},
      "refunded_at": {"$ref": "#/components/schemas/OptionalInstant"}, "reason": {"type": "string"}}},
  "PaymentList": {"type": "object", "required": ["payments", "next"], "additionalProperties": false,
    "properties": {
      "payments": {"type": "array", "items": {"$ref": "#/components/schemas/Payment"}},
      "next": {"$ref": "#/components/schemas/Next"}}},
  "RefundedPayment": {"type": "object", "required": ["payment", "state", "repeated"],
    "additionalProperties": false, "properties": {
      "payment": {"type": "string"}, "state": {"const": "refunded"}, "repeated": {"type": "boolean"}}},

  "DeadLetter": {"type": "object", "required": ["id", "entry", "reason", "order"],
    "additionalProperties": false, "properties": {
      "id": {"type": "string"}, "entry": {"type": "string"}, "reason": {"type": "string"},
      "order": {"type": "object", "additionalProperties": {"type": "string"}}}},
  "DeadLetterList": {"type": "object", "required": ["dead_letters", "next"],
    "additionalProperties": false, "properties": {
      "dead_letters": {"type": "array", "items": {"$ref": "#/components/schemas/DeadLetter"}},
      "next": {"$ref": "#/components/schemas/Next"}}},
  "DiscardedDeadLetter": {"type": "object", "required": ["id", "entry", "reason", "order",
      "discarded_at", "why"], "additionalProperties": false, "properties": {
      "id": {"type": "string"}, "entry": {"type": "string"}, "reason": {"type": "string"},
      "order": {"type": "object", "additionalProperties": {"type": "string"}},
      "discarded_at": {"$ref": "#/components/schemas/Instant"}, "why": {"type": "string"}}},
  "DiscardedLetterList": {"type": "object", "required": ["discarded", "next"],
    "additionalProperties": false, "properties": {
      "discarded": {"type": "array", "items": {"$ref": "#/components/schemas/DiscardedDeadLetter"}},
      "next": {"$ref": "#/components/schemas/Next"}}},
  "RetriedLetter": {"type": "object", "required": ["id", "retried"], "additionalProperties": false,
    "properties": {"id": {"type": "string"},
      "retried": {"description": "False: it stays, or there is none.", "type": "boolean"}}},
  "DiscardReason": {"examples": [{"reason": "no order"}],
    "type": "object", "required": ["reason"], "additionalProperties": false,
    "properties": {"reason": {"type": "string", "minLength": 1}}},
  "DiscardedLetter": {"type": "object", "required": ["id", "discarded"],
    "additionalProperties": false, "properties": {"id": {"type": "string"},
      "discarded": {"description": "False: there is none.", "type": "boolean"}}},
  "AuditRequest": {"examples": [{"repair": false}],
    "type": "object", "additionalProperties": false, "properties": {
    "repair": {"description": "First repairs what is safe.", "type": "boolean"}}},
  "Audit": {"type": "object", "required": ["state", "began_at"], "additionalProperties": false,
    "properties": {
      "state": {"enum": ["running", "done", "failed"]},
      "began_at": {"$ref": "#/components/schemas/Instant"},
      "ended_at": {"$ref": "#/components/schemas/Instant"},
      "reason": {"description": "Why it failed.", "type": "string"},
      "progress": {"type": "object", "required": ["pass", "vouchers", "vouchers_checked", "orders",
          "orders_checked"], "additionalProperties": false, "properties": {
        "pass": {"description": "Above 1: orders changed during the pass before.",
                 "type": "integer"},
        "vouchers": {"type": "integer"}, "vouchers_checked": {"type": "integer"},
        "orders": {"description": "About as many as there are: the pieces admitted.",
                   "type": "integer"},
        "orders_checked": {"type": "integer"}}},
      "report": {"type": "object", "required": ["passed", "vouchers", "money", "problems",
          "warnings"], "properties": {"passed": {"type": "boolean"},
          "problems": {"type": "array", "items": {"type": "string"}},
          "warnings": {"type": "array", "items": {"type": "string"}}}}}},
  "BackupRequest": {"examples": [{"keep": 3, "within_ms": 300000}],
    "type": "object", "additionalProperties": false, "properties": {
    "keep": {"description": "How many backups stay; 0: all.", "type": "integer", "minimum": 0,
      "default": 3},
    "within_ms": {"description": "How long it may take, so as to cost less of a sale that sells.",
      "type": "integer", "minimum": 0, "maximum": 86400000, "default": 300000},
    "directory": {"description": "The request is refused if the server makes its backups elsewhere.",
      "type": "string"}}},
  "Backup": {"type": "object", "required": ["state", "began_at", "directory"],
    "additionalProperties": false, "properties": {
      "state": {"enum": ["running", "done", "failed"]},
      "began_at": {"$ref": "#/components/schemas/Instant"},
      "ended_at": {"$ref": "#/components/schemas/Instant"},
      "reason": {"description": "Why it failed.", "type": "string"},
      "directory": {"description": "Of all backups.", "type": "string"},
      "name": {"description": "Of its own directory in there.", "type": "string"},
      "has_keyspace": {"type": "boolean"},
      "bytes": {"type": "integer"}, "took_ms": {"type": "integer"}}},
  "Statistics": {"type": "object", "required": ["at", "opened_at", "fault", "purchases", "vouchers",
      "queue", "dead_letters", "orders", "workers", "keyspace", "http"], "additionalProperties": false,
    "properties": {
      "at": {"$ref": "#/components/schemas/Instant"},
      "opened_at": {"$ref": "#/components/schemas/Instant"},
      "fault": {"description": "Why the keyspace is unusable.", "type": ["string", "null"]},
      "purchases": {"description": "By outcome: of all vouchers, of each, of further vouchers; and the latency.",
                    "type": "object", "required": ["all", "vouchers", "others", "latency"]},
      "vouchers": {"description": "How many are published and on sale, and at most 100 of them.",
                   "type": "object", "required": ["published", "on_sale", "shown"]},
      "queue": {"description": "Entries that are not stored yet.", "type": ["object", "null"]},
      "dead_letters": {"type": ["integer", "null"]},
      "orders": {"description": "Stored orders by state, and the age of the count.",
                 "type": ["object", "null"]},
      "workers": {"type": "object", "required": ["running", "pause_reasons", "stored"]},
      "keyspace": {"type": ["object", "null"]},
      "http": {"type": "object", "required": ["connections", "event_streams", "routes", "lanes"]}}},
  "Health": {"type": "object", "required": ["status"], "additionalProperties": false,
    "properties": {"status": {"enum": ["ok", "ready"]}}},
  "Server": {"type": "object", "required": ["now_ms", "payment_url", "currency", "demands_user_token",
      "demands_operator_token"], "additionalProperties": false, "properties": {
      "now_ms": {"description": "Milliseconds since 1970.", "type": "integer"},
      "payment_url": {"description": "Where a buyer pays, with {order} and others in it.",
                      "type": ["string", "null"]},
      "currency": {"description": "By ISO 4217.", "type": ["string", "null"]},
      "demands_user_token": {"description": "Buyers' routes need one.", "type": "boolean"},
      "demands_operator_token": {"description": "False: they are for the same machine alone.",
                                 "type": "boolean"}}},
  "Document": {"type": "object", "required": ["openapi", "info", "paths"]},
  "Problem": {"description": "RFC 9457.", "type": "object", "required": ["type", "title", "status"],
    "properties": {
      "type": {"type": "string", "format": "uri"}, "title": {"type": "string"},
      "status": {"type": "integer"}, "detail": {"type": "string"},
      "order": {"$ref": "#/components/schemas/OrderId"},
      "now": {"$ref": "#/components/schemas/Instant"},
      "state": {"$ref": "#/components/schemas/OrderState"}}}
})json";

Json reference_to(std::string_view schema) {
  return {{"$ref", concat("#/components/schemas/", schema)}};
}

Json content_of(std::string_view type, std::string_view schema) {
  if (schema.find('/') != std::string_view::npos)
    return {{std::string(schema), {{"schema", {{"type", "string"}}}}}};
  return {{std::string(type), {{"schema", reference_to(schema)}}}};
}

Json parameter(std::string_view place, std::string_view name, std::string_view schema,
               std::string_view description = {}) {
  Json json = {{"name", name}, {"in", place}, {"required", place == "path"}};
  json["schema"] = schema == "string" ? Json{{"type", "string"}} : reference_to(schema);
  if (!description.empty()) json["description"] = description;
  return json;
}

Json query_parameter(std::string_view name) {
  struct Known {
    std::string_view name;
    std::string_view schema;
    std::string_view description;
  };
  static constexpr Known kKnown[] = {
      {"after", "string", "`next` of the page before, or the position of an event."},
      {"limit", "Integer", "From 1 to 1000; by default 100."},
      {"order", "OrderId", "Only those of this order."},
      {"reference", "string", "Only those with this reference."},
      {"sort", "string", "`oldest`, the default, or `newest`: which ids come first."},
      {"state", "string", "Only those in this state."},
      {"user", "User", "Only those of this user."},
      {"voucher", "Integer", "Only those of this voucher."}};
  const Known& known = *std::ranges::find(kKnown, name, &Known::name);
  return parameter("query", known.name, known.schema, known.description);
}

Json parameters_of(const Route& route) {
  Json list = Json::array();
  for (const std::string_view name : {"voucher", "order", "user", "payment", "letter"}) {
    if (route.path.find(concat("{", name, "}")) == std::string_view::npos) continue;
    const std::string_view schema = name == "voucher" ? "Integer"
                                    : name == "order" ? "OrderId"
                                    : name == "user"  ? "User"
                                                      : "string";
    list.push_back(parameter("path", name, schema));
  }
  for (const std::string_view name : route.query) list.push_back(query_parameter(name));
  if (route.operation == "streamOrders") {
    list.push_back(parameter("header", "Last-Event-ID", "string", "The position of an event."));
  }
  if (route.lane == Lane::kPurchases) {
    list.push_back(
        parameter("header", "Idempotency-Key", "string",
                  "Unique for the purchase in the whole sale: a repetition gets the same "
                  "order. At most 255 printable characters."));
  }
  if (route.method == "PUT") {
    list.push_back(parameter("header", "If-Match", "string", "The ETag of the version in force."));
    list.push_back(parameter("header", "If-None-Match", "string", "Only `*`."));
  }
  return list;
}

/// Returns all problems that a route replies with.
std::vector<ProblemType> problems_of(const Route& route) {
  std::vector<ProblemType> problems = route.problems;
  problems.push_back(kInvalidRequest);
  if (route.access != Access::kAnyone) problems.push_back(kUnauthorized);
  if (route.access == Access::kOperator || route.is_write()) problems.push_back(kForbidden);
  if (route.is_write()) problems.push_back(kUnsupportedType);
  if (route.lane != Lane::kNow) {
    problems.insert(problems.end(), {kFailed, kOverloaded, kUnavailable});
  }
  return problems;
}

Json replies_of(const Route& route) {
  Json replies = Json::object();
  for (const DocumentedReply& reply : route.replies) {
    replies[std::to_string(reply.status)] = {
        {"description", "Done."}, {"content", content_of("application/json", reply.schema)}};
  }
  for (const ProblemType& type : problems_of(route)) {
    Json& reply = replies[std::to_string(type.status)];
    if (reply.is_null()) {
      reply = {{"description", ""}, {"content", content_of("application/problem+json", "Problem")}};
    }
    auto& description = reply["description"].get_ref<std::string&>();
    description += concat(description.empty() ? "" : " ", "`", type.name, "`: ", type.title, ".");
  }
  return replies;
}

Json operation_of(const Route& route) {
  Json json = {{"operationId", route.operation}, {"summary", route.summary}};
  Json parameters = parameters_of(route);
  if (!parameters.empty()) json["parameters"] = std::move(parameters);
  if (!route.body.empty()) {
    json["requestBody"] = {{"content", content_of("application/json", route.body)}};
  }
  json["responses"] = replies_of(route);
  Json security = Json::array();
  if (route.access == Access::kBuyer) security.push_back({{"user", Json::array()}});
  if (route.access != Access::kAnyone) security.push_back({{"operator", Json::array()}});
  // Neither is demanded if the server has no such key or token.
  if (route.access != Access::kAnyone) security.push_back(Json::object());
  json["security"] = std::move(security);
  return json;
}

std::string lower_case(std::string_view text) {
  std::string lower;
  for (const char c : text) lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::string make_document() {
  Json paths = Json::object();
  for (const Route& route : routes()) {
    paths[std::string(route.path)][lower_case(route.method)] = operation_of(route);
  }
  const Json document = {
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "Rushgate"},
        {"description", "A flash sale. docs/http.md has an example for each task."},
        {"version", Engine::version()}}},
      {"paths", std::move(paths)},
      {"components",
       {{"securitySchemes",
         {{"operator",
           {{"type", "http"}, {"scheme", "bearer"}, {"description", "The operators' token."}}},
          {"user",
           {{"type", "http"},
            {"scheme", "bearer"},
            {"description", "A signed token of a user."}}}}},
        {"schemas", parse_trusted_json(kSchemas)}}}};
  return document.dump(1) + '\n';
}

}  // namespace

const std::string& openapi_text() {
  static const std::string kText = make_document();
  return kText;
}

}  // namespace rushgate::http
