#include "tests/conformance/random/duel.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "tests/conformance/command_counts.h"
#include "tests/conformance/random/connection_duel.h"
#include "tests/conformance/random/exchange.h"
#include "tests/support/redis_server/raw_reply.h"

namespace rushgate::testing {
namespace {

/// Number of steps between two checks of the time.
constexpr std::size_t kBatch = 100;

constexpr std::string_view kElapse = "@elapse";  // as in transcripts

/// For requests outside the sequence.
constexpr int kAskingSession = 1'001;

/// Returns the backend's time of day.
std::int64_t now_ms(Backend& backend) {
  const Reply now = backend.ask(kAskingSession, Request::of("TIME"));
  return std::stoll(now.elements()[0].text()) * 1'000 +
         std::stoll(now.elements()[1].text()) / 1'000;
}

}  // namespace

std::optional<Difference> Duel::play(std::span<const RandomStep> steps) {
  try {
    begin();
    auto difference = has_connections_ ? play_on_connections(steps)
                      : sessions_ == 1 ? play_in_one_session(steps)
                                       : play_in_sessions(steps);
    if (difference) return difference;
    if (auto what = contents_differ(oracle_, subject_, databases_, in_any_order_)) {
      return Difference{steps.size(), *std::move(what)};
    }
    if (reopens_) return std::nullopt;  // counts are lost on reopening
    const std::string counts = counts_differ(command_counts(oracle_, kAskingSession),
                                             command_counts(subject_, kAskingSession));
    if (!counts.empty()) return Difference{steps.size(), "INFO: " + counts};
  } catch (const std::exception& error) {
    return Difference{steps.size(), error.what()};
  }
  return std::nullopt;
}

void Duel::begin() {
  last_.clear();
  waiting_.clear();
  sent_ = 0;
  in_any_order_ = false;
  oracle_.reset();
  subject_.reset();
  oracle_ids_ = ask_client_ids(oracle_);
  subject_ids_ = ask_client_ids(subject_);
  for (Backend* const backend : {&oracle_, &subject_}) {
    backend->ask(kAskingSession, Request::of("CONFIG", "RESETSTAT"));
  }
}

ClientIds Duel::ask_client_ids(Backend& backend) const {
  ClientIds ids;
  for (int session = 0; session < sessions_; ++session) ids.ask(backend, session);
  return ids;
}

void Duel::catch_up() {
  const std::int64_t behind_ms = now_ms(oracle_) - now_ms(subject_);
  if (behind_ms > 0) subject_.elapse(std::chrono::milliseconds(behind_ms));
}

std::optional<Difference> Duel::play_in_one_session(std::span<const RandomStep> steps) {
  constexpr std::size_t kBatchesBetweenLooks = 3;
  std::size_t batches = 0;
  for (std::size_t begin = 0; begin < steps.size(); begin += kBatch) {
    catch_up();
    const auto batch = steps.subspan(begin, std::min(kBatch, steps.size() - begin));
    if (auto difference = play_batch(batch, begin)) return difference;
    if (++batches % kBatchesBetweenLooks != 0) continue;
    if (auto what = look()) return Difference{begin + batch.size(), *std::move(what)};
  }
  return std::nullopt;
}

std::optional<Difference> Duel::play_batch(std::span<const RandomStep> batch, std::size_t first) {
  std::vector<RandomCommand> commands;
  std::vector<std::size_t> step_of;  // by command
  const auto send = [&]() -> std::optional<Difference> {
    sent_ += commands.size();
    const auto mismatch = send_to_both(oracle_, subject_, 0, commands);
    if (mismatch) return Difference{step_of[mismatch->index] + 1, mismatch->what};
    commands.clear();
    step_of.clear();
    return std::nullopt;
  };
  for (std::size_t i = 0; i < batch.size(); ++i) {
    for (const RandomCommand& command : batch[i]) {
      if (command.request[0] == kElapse) {
        if (auto difference = send()) return difference;
        elapse(command);
      } else {
        commands.push_back(command);
        step_of.push_back(first + i);
      }
    }
  }
  return send();
}

void Duel::elapse(const RandomCommand& command) {
  const std::chrono::milliseconds duration(std::stoll(std::string(command.request[1])));
  oracle_.elapse(duration);
  subject_.elapse(duration);
}

std::optional<std::string> Duel::look() {
  if (auto what = contents_differ(oracle_, subject_, databases_, in_any_order_)) return what;
  if (!reopens_) return std::nullopt;
  in_any_order_ = in_any_order_ || has_hash_tables(oracle_, databases_);
  oracle_.reopen();
  subject_.reopen();
  auto what = contents_differ(oracle_, subject_, databases_, in_any_order_);
  if (what) *what = "reopened: " + *what;
  return what;
}

std::optional<Difference> Duel::play_in_sessions(std::span<const RandomStep> steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i % kBatch == 0) catch_up();
    for (const RandomCommand& command : steps[i]) {
      if (waiting_.contains(command.session)) continue;
      if (auto what = play_one(command)) return Difference{i + 1, *std::move(what)};
    }
  }
  return std::nullopt;
}

std::optional<std::string> Duel::play_one(const RandomCommand& command) {
  if (command.request[0] == kElapse) {
    elapse(command);
    return receive_what_is_there();
  }
  last_.insert_or_assign(command.session, command);
  waiting_.insert(command.session);
  ++sent_;
  oracle_.send(command.session, oracle_ids_.inserted_in(command.request));
  subject_.send(command.session, subject_ids_.inserted_in(command.request));
  auto what = receive_what_is_there();
  if (what) *what = "after " + transcript_line(command) + "\n  " + *what;
  return what;
}

std::optional<Difference> Duel::play_on_connections(std::span<const RandomStep> steps) {
  ConnectionDuel duel(oracle_, subject_, sessions_);
  const auto play_one = [&](const RandomCommand& command) {
    if (command.request[0] != kElapse) {
      if (!duel.is_blocked(command.session)) ++sent_;
      return duel.play(command);
    }
    elapse(command);
    return duel.elapsed();
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const RandomCommand& command : steps[i]) {
      auto what = play_one(command);
      if (what) return Difference{i + 1, "after " + transcript_line(command) + "\n  " + *what};
    }
  }
  auto what = duel.finish();
  return what ? std::optional(Difference{steps.size(), "finally: " + *what}) : std::nullopt;
}

std::optional<std::string> Duel::receive_what_is_there() {
  for (const auto& [session, command] : last_) {
    if (auto what = receive_what_is_there(session)) {
      return "session " + std::to_string(session) + ": " + *what;
    }
  }
  return std::nullopt;
}

std::optional<std::string> Duel::receive_what_is_there(int session) {
  while (oracle_.has_answer(session)) {
    const std::string expected = oracle_.receive(session);
    if (!subject_.has_answer(session)) catch_up();  // it may have blocked for a moment only
    if (!subject_.has_answer(session)) return "no reply yet; expected: " + escaped(expected);
    waiting_.erase(session);
    if (auto what = answers_differ(last_.at(session), expected, subject_.receive(session))) {
      return what;
    }
  }
  if (!subject_.has_answer(session)) return std::nullopt;
  const std::string actual = subject_.receive(session);
  if (!parse_raw_reply(actual)->reply.is_nil()) return "a surplus reply: " + escaped(actual);
  waiting_.erase(session);  // it has expired, and will for the other backend too
  return answers_differ(last_.at(session), oracle_.receive(session), actual);
}

std::vector<RandomStep> shortened(std::vector<RandomStep> steps, Duel& duel) {
  const auto cut = [&](std::vector<RandomStep> fewer) {
    const auto difference = duel.play(fewer);
    if (!difference) return false;
    fewer.resize(difference->steps);
    steps = std::move(fewer);
    return true;
  };
  for (std::size_t size = std::max<std::size_t>(steps.size() / 2, 1);; size /= 2) {
    for (std::size_t begin = 0; begin < steps.size();) {
      std::vector<RandomStep> fewer = steps;
      const auto from = fewer.begin() + static_cast<std::ptrdiff_t>(begin);
      fewer.erase(from, from + static_cast<std::ptrdiff_t>(std::min(size, steps.size() - begin)));
      if (fewer.empty() || !cut(std::move(fewer))) begin += size;
    }
    if (size <= 1) return steps;
  }
}

}  // namespace rushgate::testing
