#include "tests/conformance/embedded_backend.h"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "storage/memory/memory_store.h"

namespace rushgate::testing {
namespace {

/// What the session speaks after this answer.
RespVersion protocol_after(const Request& request, const Reply& reply, RespVersion before) {
  if (reply.is_error()) return before;
  if (request[0] == "RESET") return RespVersion::k2;
  if (request[0] != "HELLO" || request.size() == 1) return before;
  return request[1] == "3" ? RespVersion::k3 : RespVersion::k2;
}

}  // namespace

void EmbeddedBackend::reset() {
  engine_.reset();  // answers whoever is parked
  sessions_.clear();
  engine_ = *Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock_});
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
  // The one thread there is executes it before submit() returns; what is parked is answered by a
  // later call.
  used.client->submit(request, [&used, request](const Reply& reply) {
    used.protocol = protocol_after(request, reply, used.protocol);
    const std::vector<Reply> one = {reply};
    const bool is_several = reply.kind() == Reply::Kind::kSeveral;
    for (const Reply& answer : is_several ? reply.elements() : one) {
      append_reply(answer, used.protocol, used.answers.emplace_back());
    }
  });
}

std::string EmbeddedBackend::receive(int session) {
  std::deque<std::string>& answers = sessions_[session].answers;
  // Whoever waits for the answer of a blocked command lets its time pass.
  constexpr int kLongestWaitMs = 10'000;
  for (int waited_ms = 0; answers.empty() && waited_ms < kLongestWaitMs; ++waited_ms)
    engine_->advance_ms(1);
  if (answers.empty())
    throw std::runtime_error("session " + std::to_string(session) + " has no answer");
  std::string raw = std::move(answers.front());
  answers.pop_front();
  return raw;
}

}  // namespace rushgate::testing
