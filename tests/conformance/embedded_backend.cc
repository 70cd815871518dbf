#include "tests/conformance/embedded_backend.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "tests/support/redis_server/raw_reply.h"
#include <rushgate/memory_store.h>

namespace rushgate::testing {
namespace {

bool is_named(const Request& request, std::string_view lower_case) {
  return std::equal(request[0].begin(), request[0].end(), lower_case.begin(), lower_case.end(),
                    [](unsigned char a, char b) { return std::tolower(a) == b; });
}

/// Returns the protocol of the session after this reply.
RespVersion protocol_after(const Request& request, const Reply& reply, RespVersion before) {
  if (reply.is_error()) return before;
  if (is_named(request, "reset")) return RespVersion::k2;
  if (!is_named(request, "hello") || request.size() == 1) return before;
  return request[1] == "3" ? RespVersion::k3 : RespVersion::k2;
}

/// Appends each reply in `raw` separately: further replies follow that of a transaction with
/// SUBSCRIBE.
void append_each(std::string_view raw, std::deque<std::string>& answers) {
  while (const auto parsed = parse_raw_reply(raw)) {
    answers.emplace_back(raw.substr(0, parsed->size));
    raw.remove_prefix(parsed->size);
  }
}

}  // namespace

void EmbeddedBackend::reset() {
  engine_.reset();  // ends blocked commands
  sessions_.clear();
  clock_.set_now_ms(ManualClock::kStartMs);
  open(open_store_ ? open_store_(true) : std::make_unique<MemoryStore>());
}

void EmbeddedBackend::reopen() {
  if (!open_store_) return Backend::reopen();
  engine_.reset();
  sessions_.clear();
  open(open_store_(false));
}

void EmbeddedBackend::open(std::unique_ptr<Store> store) {
  auto engine = Engine::open(
      std::move(store),
      {.manual_clock = &clock_, .slowlog_log_slower_than_us = 10'000, .debug_commands = true});
  if (!engine.ok()) throw std::runtime_error(engine.status().ToString());
  engine_ = *std::move(engine);
}

void EmbeddedBackend::send(int session, const Request& request) {
  Session& used = sessions_[session];
  if (used.client == nullptr) {
    used.client = engine_->open_client(
        {.protocol = static_cast<int>(protocol_), .on_message = [&used](const Reply& message) {
           append_reply(message, used.protocol, used.answers.emplace_back());
         }});
    used.protocol = protocol_;
  }
  // The only thread executes it before submit() returns. A later call completes a blocked command.
  used.client->submit(request, [&used, request](const Reply& reply) {
    used.protocol = protocol_after(request, reply, used.protocol);
    std::string raw;
    append_reply(reply, used.protocol, raw);
    append_each(raw, used.answers);
  });
}

std::string EmbeddedBackend::receive(int session) {
  std::deque<std::string>& answers = sessions_[session].answers;
  // A test that waits for a blocked command lets its timeout pass.
  constexpr int kLongestWaitMs = 10'000;
  for (int waited_ms = 0; answers.empty() && waited_ms < kLongestWaitMs; ++waited_ms)
    engine_->advance_ms(1);
  if (answers.empty())
    throw std::runtime_error("session " + std::to_string(session) + " has no reply");
  std::string raw = std::move(answers.front());
  answers.pop_front();
  return raw;
}

}  // namespace rushgate::testing
