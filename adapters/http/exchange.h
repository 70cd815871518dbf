// A request and its reply, without a connection: what the server's connections and the routes share.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"

namespace rushgate::http {

/// A request as its client sent it. A header field that is missing is empty.
struct HttpCall {
  std::string method = {};  // in capitals
  std::string target = {};  // path and query
  std::string body = {};

  std::string authorization = {};
  std::string content_type = {};
  std::string host = {};
  std::string idempotency_key = {};
  std::string if_match = {};
  std::string if_none_match = {};
  std::string last_event_id = {};
  std::string origin = {};
  std::string sec_fetch_site = {};

  bool has_field_twice = false;  // one of the fields above
  bool is_forwarded = false;     // by a proxy that says so
  bool is_from_loopback = false;
};

struct EventStream;  // in event_feed.h

/// A reply.
struct HttpAnswer {
  int status = 200;
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> fields = {};  // further header fields
  std::string body = {};
  std::string_view policy =
      "default-src 'none'; frame-ancestors 'none'";  // Content-Security-Policy
  std::string_view caching = "no-store";             // Cache-Control
  std::shared_ptr<EventStream> events = {};          // instead of a body; null: none
};

/// Gets the reply to a request, once, on any thread.
using HttpDone = absl::AnyInvocable<void(HttpAnswer answer)>;

}  // namespace rushgate::http
