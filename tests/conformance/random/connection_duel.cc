#include "tests/conformance/random/connection_duel.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "tests/conformance/random/exchange.h"
#include "tests/support/redis_server/raw_connection.h"
#include "tests/support/redis_server/raw_reply.h"

namespace rushgate::testing {
namespace {

constexpr std::string_view kClose = "@close";

constexpr int kConnectionAskingSession = 1'003;

/// Ends pipelined commands, so that the connection's state shows whether they have run.
constexpr std::string_view kEndOfPipeline = "echo";

/// For effects that no command of a session has caused.
const RandomCommand kNoCommand{-1, "", {}, Request()};

/// Sorts neighbours among the messages of tracking: Redis sends those of one command in the order of
/// its clients' addresses, or of the bytes of their ids. Removes a CLIENT ID from them.
void unify_tracking_messages(std::vector<std::string>& messages) {
  static constexpr std::string_view kBrokenRedirect = "tracking-redir-broken";
  for (std::string& message : messages) {
    if (message.find(kBrokenRedirect) != std::string::npos) message = kBrokenRedirect;
  }
  const auto is_of_tracking = [](const std::string& message) {
    return message == kBrokenRedirect || message.find("invalidate") != std::string::npos;
  };
  for (auto begin = messages.begin(); begin != messages.end();) {
    begin = std::find_if(begin, messages.end(), is_of_tracking);
    const auto end = std::find_if_not(begin, messages.end(), is_of_tracking);
    std::sort(begin, end);
    begin = end;
  }
}

std::optional<std::string> sequences_differ(const RandomCommand& command,
                                            std::span<const std::string> expected,
                                            std::span<const std::string> actual) {
  for (std::size_t i = 0; i < std::min(expected.size(), actual.size()); ++i) {
    if (auto what = answers_differ(command, expected[i], actual[i])) return what;
  }
  if (expected.size() > actual.size()) return "missing: " + escaped(expected[actual.size()]);
  if (expected.size() < actual.size()) return "a surplus: " + escaped(actual[expected.size()]);
  return std::nullopt;
}

}  // namespace

ConnectionDuel::ConnectionDuel(Backend& oracle, Backend& subject, int sessions)
    : sessions_(sessions), oracle_{oracle}, subject_{subject} {
  for (Side* const side : {&oracle_, &subject_}) {
    for (int session = 0; session < sessions; ++session) side->ids.ask(side->backend, session);
    side->backend.ask(kConnectionAskingSession, Request::of("DEBUG", "SET-ACTIVE-EXPIRE", 0));
  }
}

std::optional<std::string> ConnectionDuel::play(const RandomCommand& command) {
  if (command.request[0] == kClose) {
    reconnect(command.session);
  } else if (is_blocked(command.session)) {
    return std::nullopt;
  } else {
    for (const Side* const side : {&oracle_, &subject_}) send(*side, command);
  }
  return effects_differ(command);
}

std::optional<std::string> ConnectionDuel::elapsed() {
  for (const Side* const side : {&oracle_, &subject_}) {
    side->backend.ask(kConnectionAskingSession,
                      Request::of("PING"));  // ends blocks before the next command
  }
  return effects_differ(kNoCommand);
}

std::optional<std::string> ConnectionDuel::finish() {
  for (const Side* const side : {&oracle_, &subject_}) {
    side->backend.ask(kConnectionAskingSession, Request::of("CLIENT", "UNPAUSE"));
  }
  if (auto what = effects_differ(kNoCommand)) return what;
  for (const Side* const side : {&oracle_, &subject_}) {
    for (const int session : blocked_) {
      side->backend.ask(kConnectionAskingSession,
                        Request::of("CLIENT", "UNBLOCK", side->ids.of(session)));
    }
  }
  return effects_differ(kNoCommand);
}

/// Returns when the command has a reply, is blocked, or has ended its connection.
void ConnectionDuel::send(const Side& side, const RandomCommand& command) {
  const int session = command.session;
  if (!command.pipelined.empty()) return send_pipelined(side, command);
  side.backend.send(session, side.ids.inserted_in(command.request));
  const auto is_done = [&] {
    if (side.backend.has_answer(session) || side.backend.has_ended(session)) return true;
    return connection_states(side.backend)[side.ids.of(session)].is_blocked;
  };
  while (!is_done()) std::this_thread::yield();
}

void ConnectionDuel::send_pipelined(const Side& side, const RandomCommand& command) {
  std::vector<Request> requests{side.ids.inserted_in(command.request)};
  for (const Request& request : command.pipelined)
    requests.push_back(side.ids.inserted_in(request));
  requests.push_back(Request::of(kEndOfPipeline, "the end"));
  side.backend.send_pipelined(command.session, requests);
  pipelines_.insert(command.session);
}

/// Reads the states of the connections when the pipelined commands have run or are blocked.
void ConnectionDuel::read_states(Side& side) const {
  const auto is_running = [&side](int session) {
    const auto state = side.states.find(side.ids.of(session));
    return state != side.states.end() && !state->second.is_blocked &&
           state->second.command != kEndOfPipeline;
  };
  const auto give_up = std::chrono::steady_clock::now() + RawConnection::kPatience;
  do {
    if (std::chrono::steady_clock::now() > give_up)
      throw std::runtime_error(side.backend.name() + ": pipelined commands do not end");
    side.states = connection_states(side.backend);
  } while (std::ranges::any_of(pipelines_, is_running));
}

void ConnectionDuel::reconnect(Side& side, int session) {
  side.backend.close(session);
  while (connection_states(side.backend).contains(side.ids.of(session))) std::this_thread::yield();
  side.ids.ask(side.backend, session);
}

void ConnectionDuel::reconnect(int session) {
  pipelines_.erase(session);
  for (Side* const side : {&oracle_, &subject_}) reconnect(*side, session);
}

std::optional<std::string> ConnectionDuel::effects_differ(const RandomCommand& command) {
  for (Side* const side : {&oracle_, &subject_}) read_states(*side);
  blocked_.clear();
  const auto of_session = [](int session, const std::string& what) {
    return "session " + std::to_string(session) + ": " + what;
  };
  for (int session = 0; session < sessions_; ++session) {
    if (auto what = states_differ(session)) return of_session(session, *what);
  }
  for (const Side* const side : {&oracle_, &subject_}) send_barriers(*side);
  for (int session = 0; session < sessions_; ++session) {
    if (is_blocked(session)) continue;
    if (auto what = received_differs(command, session)) return of_session(session, *what);
  }
  return std::nullopt;
}

std::optional<std::string> ConnectionDuel::states_differ(int session) {
  const auto expected = oracle_.states.find(oracle_.ids.of(session));
  const auto actual = subject_.states.find(subject_.ids.of(session));
  const bool has_ended = expected == oracle_.states.end();
  if (has_ended != (actual == subject_.states.end())) {
    return has_ended ? "the connection was not closed" : "the connection was closed";
  }
  if (has_ended) return std::nullopt;
  if (expected->second.is_blocked) {
    blocked_.insert(session);
  } else {
    pipelines_.erase(session);
  }
  const auto shown = [](const Side& side, const ConnectionState& state) {
    const bool has_redirect = state.redirect != "-1" && state.redirect != "0";
    return state.fields +
           " redir=" + (has_redirect ? side.ids.name_of(state.redirect) : state.redirect);
  };
  const std::string expected_shown = shown(oracle_, expected->second);
  const std::string actual_shown = shown(subject_, actual->second);
  if (expected_shown == actual_shown) return std::nullopt;
  return "\n  expected: " + expected_shown + "\n  actual:   " + actual_shown;
}

void ConnectionDuel::send_barriers(const Side& side) const {
  for (int session = 0; session < sessions_; ++session) {
    const auto state = side.states.find(side.ids.of(session));
    if (state == side.states.end() || state->second.is_blocked) continue;
    side.backend.send_barrier(session, state->second.is_in_transaction);
  }
}

std::optional<std::string> ConnectionDuel::received_differs(const RandomCommand& command,
                                                            int session) {
  const auto received = [session](const Side& side) {
    const ConnectionState& state = side.states.at(side.ids.of(session));
    RawOutput output =
        separate_messages(side.backend.receive_to_barrier(session, state.is_in_transaction));
    unify_tracking_messages(output.messages);
    return output;
  };
  if (!oracle_.states.contains(oracle_.ids.of(session))) return last_bytes_differ(session);
  const RawOutput expected = received(oracle_);
  const RawOutput actual = received(subject_);
  const RandomCommand without_slack{session, "", {}, command.request};
  const bool is_own = session == command.session;
  auto what = sequences_differ(is_own ? command : without_slack, expected.replies, actual.replies);
  return what ? what : sequences_differ(without_slack, expected.messages, actual.messages);
}

/// Begins the session again.
std::optional<std::string> ConnectionDuel::last_bytes_differ(int session) {
  const std::string expected = oracle_.backend.receive_all(session);
  const std::string actual = subject_.backend.receive_all(session);
  if (expected != actual) {
    return "at its end:\n  expected: " + escaped(expected) + "\n  actual:   " + escaped(actual);
  }
  reconnect(session);
  return std::nullopt;
}

}  // namespace rushgate::testing
