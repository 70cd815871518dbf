#include <utility>

#include "engine/core/client/redis_error_code.h"
#include <rushgate/client.h>
#include <rushgate/reply.h>

namespace rushgate {

Request make_script_request(std::string_view verb, std::string_view what,
                            std::span<const std::string_view> keys,
                            std::span<const std::string_view> arguments) {
  std::size_t bytes = verb.size() + what.size() + 4;
  for (const auto key : keys) bytes += key.size();
  for (const auto argument : arguments) bytes += argument.size();

  Request request;
  request.reserve(3 + keys.size() + arguments.size(), bytes);
  request.add(verb);
  request.add(what);
  request.add(keys.size());
  for (const auto key : keys) request.add(key);
  for (const auto argument : arguments) request.add(argument);
  return request;
}

Request Client::script_request(const Script& script, std::span<const std::string_view> keys,
                               std::span<const std::string_view> arguments) const {
  return make_script_request("EVALSHA", script.sha1(), keys, arguments);
}

Reply Client::run(const Script& script, std::span<const std::string_view> keys,
                  std::span<const std::string_view> arguments) {
  Reply reply = call(script_request(script, keys, arguments));
  if (!has_code(reply, redis_error_code::kNoScript)) return reply;
  return call(make_script_request("EVAL", script.text(), keys, arguments));
}

namespace {

/// A restart or SCRIPT FLUSH removes scripts, possibly between loading and
/// running.
constexpr int kLoadsMax = 3;

/// Returns the reply to a request whose script could not be loaded. The request did not run.
Reply reply_without_script(const Reply& loaded) {
  if (!has_code(loaded, error_code::kOutcomeUnknown)) return loaded;
  return Reply::error("CLOSED the connection was lost while a script was loaded");
}

}  // namespace

Reply Client::run(const Script& script, absl::FunctionRef<Request()> make) {
  Reply reply = call(make());
  for (int loads = 0; loads < kLoadsMax && has_code(reply, redis_error_code::kNoScript); ++loads) {
    const Reply loaded = call(Request::of("SCRIPT", "LOAD", script.text()));
    if (loaded.is_error()) return reply_without_script(loaded);
    reply = call(make());
  }
  return reply;
}

void Client::submit_late(LateRequest& request) {
  if (inside_callback()) return request.complete(call(request.make()));  // no completion runs now
  submit(request.make(), [&request](Reply reply) { request.complete(std::move(reply)); });
}

void Client::submit_script(const Script& script, std::span<const std::string_view> keys,
                           std::span<const std::string_view> arguments, Completion completion) {
  Request request = script_request(script, keys, arguments);
  Request kept = request;
  submit(std::move(request), [this, &script, kept = std::move(kept),
                              completion = std::move(completion)](Reply reply) mutable {
    if (!has_code(reply, redis_error_code::kNoScript)) return completion(std::move(reply));
    Request in_full = Request::of("EVAL", script.text());
    for (std::size_t i = 2; i < kept.size(); ++i) in_full.add(kept[i]);
    submit(std::move(in_full), std::move(completion));
  });
}

std::vector<Reply> Client::run_all(const Script& script, std::span<const Request> requests) {
  std::vector<Reply> replies = pipeline(requests);
  for (int loads = 0; loads < kLoadsMax; ++loads) {
    std::vector<std::size_t> unknown;  // positions of NOSCRIPT replies, which did not run
    for (std::size_t i = 0; i < replies.size(); ++i) {
      if (has_code(replies[i], redis_error_code::kNoScript)) unknown.push_back(i);
    }
    if (unknown.empty()) return replies;

    const Reply loaded = call(Request::of("SCRIPT", "LOAD", script.text()));
    if (loaded.is_error()) {
      for (const std::size_t i : unknown) replies[i] = reply_without_script(loaded);
      return replies;
    }
    std::vector<Request> again;
    again.reserve(unknown.size());
    for (const std::size_t i : unknown) again.push_back(requests[i]);
    std::vector<Reply> retried = pipeline(again);
    for (std::size_t i = 0; i < unknown.size(); ++i) replies[unknown[i]] = std::move(retried[i]);
  }
  return replies;
}

}  // namespace rushgate
