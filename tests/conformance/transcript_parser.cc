#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "engine/core/base/numbers.h"
#include "tests/conformance/transcript.h"

namespace rushgate::testing {
namespace {

using std::string_view;

[[noreturn]] void mistake(const std::string& what) { throw std::invalid_argument(what); }

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

string_view trimmed(string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// ---- Words: quoting as in redis-cli -------------------------------------------------------------

/// Removes words from the front of a line.
class Words {
 public:
  explicit Words(string_view line) : rest_(trimmed(line)) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  [[nodiscard]] string_view rest() const { return rest_; }

  Argument next() {
    Argument word{"", rest_.front() == '\''};
    if (rest_.front() == '"') {
      take_double_quoted(word.text);
    } else if (rest_.front() == '\'') {
      take_single_quoted(word.text);
    } else {
      while (!rest_.empty() && !is_blank(rest_.front())) word.text += take();
      if (word.text.find_first_of("\"'") != std::string::npos) {
        mistake("a quote inside the word " + word.text);
      }
    }
    if (!rest_.empty() && !is_blank(rest_.front())) mistake("no space after a closing quote");
    rest_ = trimmed(rest_);
    return word;
  }

  /// Returns a word that belongs to the notation, not to the command.
  std::string next_plain(string_view what) {
    if (empty()) mistake("there is no " + std::string(what));
    return next().text;
  }

  std::int64_t next_number(string_view what) {
    const auto number = parse_int64(next_plain(what));
    if (!number || *number < 0) mistake("the " + std::string(what) + " is not a number");
    return *number;
  }

 private:
  char take() {
    if (rest_.empty()) mistake("a quote that is not closed");
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  void take_single_quoted(std::string& out) {
    take();
    for (char c = take(); c != '\''; c = take()) {
      const bool quote = c == '\\' && rest_.starts_with('\'');
      out += quote ? take() : c;
    }
  }

  void take_double_quoted(std::string& out) {
    take();
    for (char c = take(); c != '"'; c = take()) out += c == '\\' ? take_escape() : c;
  }

  char take_escape() {
    const char c = take();
    switch (c) {
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case 'b':
        return '\b';
      case 'a':
        return '\a';
      case 'x':
        return static_cast<char>(take_hex_digit() * 16 + take_hex_digit());
      default:
        return c;
    }
  }

  int take_hex_digit() {
    const char c = take();
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0) mistake("\\x without two digits");
    if (c <= '9') return c - '0';
    return std::tolower(static_cast<unsigned char>(c)) - 'a' + 10;
  }

  string_view rest_;
};

// ---- One line -----------------------------------------------------------------------------------

/// The path of the last slack or @set, which @at sets.
void parse_directive(const std::string& name, Words& words, Step& step, ReplyPath*& last_path) {
  using Kind = Slack::Kind;
  static const std::map<string_view, Kind> kSlackKinds = {
      {"@any", Kind::kAny},
      {"@approx-ms", Kind::kApproxMs},
      {"@prefix", Kind::kPrefix},
      {"@lines", Kind::kLines},
      {"@same-size", Kind::kSameSize},
      {"@unordered", Kind::kUnordered},
      {"@pairs-unordered", Kind::kPairsUnordered},
  };
  if (const auto kind = kSlackKinds.find(name); kind != kSlackKinds.end()) {
    Slack& slack = step.slack.emplace_back(Slack{kind->second, 0, "", {}, false});
    if (slack.kind == Kind::kApproxMs) slack.ms = words.next_number("number of ms");
    const bool has_prefix = slack.kind == Kind::kPrefix || slack.kind == Kind::kLines;
    if (has_prefix) slack.prefix = words.next_plain("prefix");
    last_path = &slack.at;
  } else if (name == "@set") {
    step.set = words.next_plain("name after @set");
    last_path = &step.set_at;
  } else if (name == "@at") {
    if (last_path == nullptr) mistake("@at after nothing");
    *last_path = ReplyPath(words.next_plain("path after @at"));
  } else if (name == "@if-at") {
    if (last_path == nullptr || step.slack.empty() || last_path != &step.slack.back().at) {
      mistake("@if-at after no slack");
    }
    *last_path = ReplyPath(words.next_plain("path after @if-at"));
    step.slack.back().may_lack = true;
  } else if (name == "@times") {
    step.times = static_cast<int>(words.next_number("number after @times"));
  } else {
    mistake("unknown directive " + name);
  }
}

/// Parses "1:", "1>", "1<", "1!" or "1?" at the front of the rest.
void parse_session(Words& words, Step& step) {
  const string_view rest = words.rest();
  const auto* const end = std::find_if_not(rest.begin(), rest.end(),
                                           [](unsigned char c) { return std::isdigit(c) != 0; });
  if (end == rest.begin() || end == rest.end()) return;
  static const std::map<char, Step::Kind> kKinds = {{':', Step::Kind::kCall},
                                                    {'>', Step::Kind::kSend},
                                                    {'<', Step::Kind::kReceive},
                                                    {'!', Step::Kind::kMessage},
                                                    {'?', Step::Kind::kPending}};
  const auto kind = kKinds.find(*end);
  const bool word_ends = end + 1 == rest.end() || is_blank(end[1]);
  if (kind == kKinds.end() || !word_ends) return;
  step.kind = kind->second;
  step.session = std::stoi(std::string(rest.begin(), end));
  words.next();
}

Step parse_step(string_view line, int number) {
  Step step{Step::Kind::kCall, number, std::string(trimmed(line)), 0, 1, 0, {}, "", {}, {}};
  Words words(line);
  ReplyPath* last_path = nullptr;
  // last_path points into it, so it must not be reallocated.
  step.slack.reserve(line.size());
  while (words.rest().starts_with('@')) {
    const std::string name = words.next().text;
    if (name == "@elapse") {
      step.kind = Step::Kind::kElapse;
      step.elapse_ms = words.next_number("number of ms");
      if (!words.empty()) mistake("a command after @elapse");
      return step;
    }
    parse_directive(name, words, step, last_path);
  }
  parse_session(words, step);
  while (!words.empty()) step.command.push_back(words.next());
  const bool has_command = step.kind == Step::Kind::kCall || step.kind == Step::Kind::kSend;
  if (has_command == step.command.empty()) {
    mistake(has_command ? "no command" : "a command where none is sent");
  }
  const bool compares = step.kind == Step::Kind::kCall || step.kind == Step::Kind::kReceive ||
                        step.kind == Step::Kind::kMessage;
  if (!compares && (!step.slack.empty() || !step.set.empty())) {
    mistake("a directive for a reply, but no reply is received");
  }
  if (step.times > 1 && step.kind != Step::Kind::kCall) mistake("@times without a reply each");
  return step;
}

// ---- A whole file -------------------------------------------------------------------------------

/// Checks that each command sent without waiting is received later, and no other.
class SessionCheck {
 public:
  void see(const Step& step) {
    int& waiting = waiting_[step.session];
    if (step.kind == Step::Kind::kCall && waiting > 0) {
      mistake("session " + std::to_string(step.session) + " still waits for a reply");
    }
    if (step.kind == Step::Kind::kSend) ++waiting;
    if (step.kind == Step::Kind::kReceive || step.kind == Step::Kind::kPending) {
      if (waiting == 0) mistake("session " + std::to_string(step.session) + " waits for no reply");
      if (step.kind == Step::Kind::kReceive) --waiting;
    }
  }

  void end_case() {
    for (const auto& [session, waiting] : waiting_) {
      if (waiting > 0)
        mistake("session " + std::to_string(session) + " still waits at the end of the case");
    }
    waiting_.clear();
  }

 private:
  std::map<int, int> waiting_;
};

class TranscriptParser {
 public:
  explicit TranscriptParser(string_view file) : file_(file) {}

  std::vector<Case> parse(string_view text) {
    try {
      while (!text.empty()) {
        ++number_;
        const std::size_t end = std::min(text.find('\n'), text.size());
        see_line(trimmed(text.substr(0, end)));
        text.remove_prefix(std::min(end + 1, text.size()));
      }
      sessions_.end_case();
    } catch (const std::invalid_argument& error) {
      throw std::runtime_error(file_ + ":" + std::to_string(number_) + ": " + error.what());
    }
    return std::move(cases_);
  }

 private:
  void see_line(string_view line) {
    if (line.empty() || line.starts_with('#')) return;
    if (line.starts_with("==")) {
      sessions_.end_case();
      begin_case(std::string(trimmed(line.substr(2))));
      return;
    }
    if (cases_.empty()) mistake("a command before the first case");
    Step step = parse_step(line, number_);
    sessions_.see(step);
    cases_.back().steps.push_back(std::move(step));
  }

  void begin_case(const std::string& title) {
    if (title.empty()) mistake("a case without a title");
    if (!titles_.insert(title).second) mistake("a second case with the title " + title);
    cases_.push_back({file_, number_, title, {}});
  }

  const std::string file_;
  int number_ = 0;
  std::vector<Case> cases_;
  std::set<std::string> titles_;
  SessionCheck sessions_;
};

}  // namespace

std::vector<Slack> take_slack(string_view& line) {
  Step step{};
  step.slack.reserve(line.size());  // last_path points into it
  ReplyPath* last_path = nullptr;
  Words words(line);
  while (words.rest().starts_with('@')) {
    const std::string name = words.next().text;
    parse_directive(name, words, step, last_path);
  }
  if (!step.set.empty() || step.times != 1) mistake("only slack may stand here");
  line = words.rest();
  return std::move(step.slack);
}

std::vector<Case> parse_transcript(string_view file, string_view text) {
  return TranscriptParser(file).parse(text);
}

}  // namespace rushgate::testing
