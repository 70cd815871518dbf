#include "adapters/http/connection.h"

#include <string_view>

#include "adapters/http/problem.h"
#include "engine/core/base/numbers.h"

namespace rushgate::http {

// ---- The count of connections -----------------------------------------------------------------

bool OpenConnections::add(std::size_t most) {
  const std::lock_guard lock(mutex_);
  if (count_ >= most) {
    ++refused_;
    return false;
  }
  ++count_;
  return true;
}

std::size_t OpenConnections::count() {
  const std::lock_guard lock(mutex_);
  return count_;
}

std::uint64_t OpenConnections::refused() {
  const std::lock_guard lock(mutex_);
  return refused_;
}

void OpenConnections::remove() {
  const std::lock_guard lock(mutex_);
  if (--count_ == 0) is_none_.notify_all();
}

void OpenConnections::wait_for_none(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  is_none_.wait_for(lock, patience, [this] { return count_ == 0; });
}

std::int64_t steady_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

// ---- Requests ---------------------------------------------------------------------------------

namespace {

/// Takes a header field, unless it was taken before.
void take_field(std::string_view value, std::string& to, HttpCall& call) {
  if (!to.empty()) call.has_field_twice = true;
  to = value;
}

void take_named_field(beast::string_view name, std::string_view value, HttpCall& call) {
  if (beast::iequals(name, "idempotency-key")) take_field(value, call.idempotency_key, call);
  if (beast::iequals(name, "last-event-id")) take_field(value, call.last_event_id, call);
  if (beast::iequals(name, "sec-fetch-site")) take_field(value, call.sec_fetch_site, call);
  if (beast::iequals(name, "x-forwarded-for") || beast::iequals(name, "x-real-ip")) {
    call.is_forwarded = true;
  }
}

}  // namespace

HttpCall take_call(RequestParser& parser, bool is_from_loopback) {
  using beast::http::field;
  auto& message = parser.get();
  HttpCall call;
  call.is_from_loopback = is_from_loopback;
  const bool is_head = message.method() == beast::http::verb::head;
  call.method = is_head ? "GET" : std::string(message.method_string());
  call.target = std::string(message.target());
  call.body = std::move(message.body());
  for (const auto& line : message) {
    const std::string_view value(line.value().data(), line.value().size());
    switch (line.name()) {
      case field::authorization:
        take_field(value, call.authorization, call);
        break;
      case field::content_type:
        take_field(value, call.content_type, call);
        break;
      case field::host:
        take_field(value, call.host, call);
        break;
      case field::if_match:
        take_field(value, call.if_match, call);
        break;
      case field::if_none_match:
        take_field(value, call.if_none_match, call);
        break;
      case field::origin:
        take_field(value, call.origin, call);
        break;
      case field::forwarded:
      case field::via:
        call.is_forwarded = true;
        break;
      default:
        take_named_field(line.name_string(), value, call);
        break;
    }
  }
  return call;
}

// ---- Replies ----------------------------------------------------------------------------------

std::string reply_bytes(const HttpAnswer& answer, bool keeps_alive, bool has_body) {
  const auto reason = beast::http::obsolete_reason(static_cast<beast::http::status>(answer.status));
  constexpr std::size_t kUsualHeaderBytes = 512;
  std::string bytes;
  bytes.reserve(kUsualHeaderBytes + answer.body.size());
  const auto append = [&bytes](const auto&... parts) { (bytes.append(parts), ...); };
  append("HTTP/1.1 ", DecimalText(answer.status).view(), " ",
         std::string_view(reason.data(), reason.size()), "\r\nContent-Type: ", answer.type,
         "\r\nCache-Control: ", answer.caching, "\r\nContent-Security-Policy: ", answer.policy,
         "\r\nX-Content-Type-Options: nosniff\r\n");
  for (const auto& [name, value] : answer.fields) append(name, ": ", value, "\r\n");
  // The end of a body that goes on is that of the connection.
  constexpr int kNotModified = 304;  // whose length would be that of the page
  if (answer.events == nullptr && answer.status != kNotModified) {
    append("Content-Length: ", DecimalText::of_unsigned(answer.body.size()).view(), "\r\n");
  }
  if (!keeps_alive) bytes += "Connection: close\r\n";
  bytes += "\r\n";
  if (has_body) bytes += answer.body;
  return bytes;
}

std::optional<HttpAnswer> refuse_unreadable(const beast::error_code& error) {
  using Error = beast::http::error;
  if (error == Error::header_limit) return problem(kHeaderTooLarge);
  if (error == Error::body_limit) return problem(kBodyTooLarge);
  if (error == Error::end_of_stream || error == Error::partial_message) return std::nullopt;
  if (error.category() != make_error_code(Error::bad_method).category()) return std::nullopt;
  return problem(kInvalidRequest, error.message());
}

}  // namespace rushgate::http
