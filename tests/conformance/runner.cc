#include "tests/conformance/runner.h"

#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <set>

#include "tests/conformance/compare.h"
#include "tests/support/redis_server/raw_reply.h"

namespace rushgate::testing {
namespace {

class Run {
 public:
  Run(const Case& test_case, Backend& oracle, Backend& subject, std::ostream* log)
      : case_(test_case), oracle_{oracle, {}}, subject_{subject, {}}, log_(log) {}

  std::vector<std::string> play() {
    const Step* current = nullptr;
    try {
      for (Side* const side : {&oracle_, &subject_}) side->backend.reset();
      for (const Step& step : case_.steps) {
        current = &step;
        for (int i = 1; i <= step.times && failures_.size() < kFailuresMax; ++i) play(step, i);
      }
      current = nullptr;
      if (failures_.empty()) expect_nothing_more();
    } catch (const std::exception& error) {
      const std::string where = current == nullptr ? case_.title : current->text;
      fail(current == nullptr ? case_.line : current->line, where, error.what());
    }
    return std::move(failures_);
  }

 private:
  /// One of the two backends, and the values of variables in its replies.
  struct Side {
    Backend& backend;
    Variables variables;
  };

  void play(const Step& step, int i) {
    switch (step.kind) {
      case Step::Kind::kCall:
        send(step, i);
        return receive(step);
      case Step::Kind::kSend:
        return send(step, i);
      case Step::Kind::kReceive:
      case Step::Kind::kMessage:
        return receive(step);
      case Step::Kind::kPending:
        return expect_no_answer(step);
      case Step::Kind::kElapse:
        for (Side* const side : {&oracle_, &subject_}) {
          side->backend.elapse(std::chrono::milliseconds(step.elapse_ms));
        }
        return;
    }
  }

  void send(const Step& step, int i) {
    for (Side* const side : {&oracle_, &subject_}) {
      side->backend.send(step.session, step.request(side->variables, i));
    }
  }

  void receive(const Step& step) {
    const std::string expected = oracle_.backend.receive(step.session);
    if (log_ != nullptr) *log_ << step.text << "\n    " << escaped(expected) << "\n";
    const std::string actual = subject_.backend.receive(step.session);
    if (!step.set.empty()) {
      oracle_.variables[step.set] = captured(step, expected);
      subject_.variables[step.set] = captured(step, actual);
    }
    const auto different =
        difference(step.slack, {expected, oracle_.variables}, {actual, subject_.variables});
    if (different) fail(step.line, step.text, *different + answers(expected, actual));
  }

  void expect_no_answer(const Step& step) {
    for (Side* const side : {&oracle_, &subject_}) {
      if (!side->backend.has_answer(step.session)) continue;
      const std::string answer = escaped(side->backend.receive(step.session));
      throw std::runtime_error(side->backend.name() + " has already replied: " + answer);
    }
  }

  void expect_nothing_more() {
    std::set<int> sessions;
    for (const Step& step : case_.steps) {
      if (step.kind != Step::Kind::kElapse) sessions.insert(step.session);
    }
    for (const int session : sessions) {
      for (Side* const side : {&oracle_, &subject_}) {
        if (!side->backend.has_answer(session)) continue;
        fail(case_.line, case_.title,
             side->backend.name() + " has a surplus reply in session " + std::to_string(session) +
                 ": " + escaped(side->backend.receive(session)));
      }
    }
  }

  [[nodiscard]] std::string answers(const std::string& expected, const std::string& actual) const {
    return "\n  " + oracle_.backend.name() + ": " + escaped(expected) + "\n  " +
           subject_.backend.name() + ": " + escaped(actual);
  }

  void fail(int line, const std::string& text, const std::string& what) {
    failures_.push_back(case_.file + ":" + std::to_string(line) + ": " + text + "\n  " + what);
  }

  const Case& case_;
  Side oracle_;
  Side subject_;
  std::ostream* const log_;
  std::vector<std::string> failures_;
};

}  // namespace

std::vector<std::string> run_case(const Case& test_case, Backend& oracle, Backend& subject,
                                  std::ostream* log) {
  return Run(test_case, oracle, subject, log).play();
}

}  // namespace rushgate::testing
