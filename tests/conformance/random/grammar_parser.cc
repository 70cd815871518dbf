#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "engine/core/base/numbers.h"
#include "engine/core/client/quoted_words.h"
#include "tests/conformance/random/grammar.h"

namespace rushgate::testing {
namespace {

using std::string_view;

[[noreturn]] void mistake(const std::string& what) { throw std::invalid_argument(what); }

bool is_name_character(char c) {
  return c == '_' || std::islower(static_cast<unsigned char>(c)) != 0 ||
         std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// The rest of a line.
class Line {
 public:
  explicit Line(string_view text) : rest_(text) {}

  void skip_blanks() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
  }
  [[nodiscard]] bool at(string_view text) const { return rest_.starts_with(text); }
  [[nodiscard]] bool empty() const { return rest_.empty(); }
  bool take(string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  /// Returns the characters before the first that fulfils `ends`.
  template <class Ends>
  string_view take_until(Ends ends) {
    const auto* const end = std::find_if(rest_.begin(), rest_.end(), ends);
    const string_view taken(rest_.data(), static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string take_quoted() {
    std::size_t end = 1;
    while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2U : 1U;
    Request words;
    if (end >= rest_.size() || !split_quoted(rest_.substr(0, end + 1), words) ||
        words.size() != 1) {
      mistake("a quote that is not closed");
    }
    rest_.remove_prefix(end + 1);
    return std::string(words[0]);
  }
  std::optional<std::pair<std::int64_t, std::int64_t>> take_range() {
    const string_view before = rest_;
    const string_view word = take_until([](char c) {
      return std::isdigit(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-';
    });
    const std::size_t dots = word.find("..");
    if (dots == string_view::npos) {
      rest_ = before;
      return std::nullopt;
    }
    const auto low = parse_int64(word.substr(0, dots));
    const auto high = parse_int64(word.substr(dots + 2));
    if (!low || !high || *low > *high) mistake("no range: " + std::string(word));
    return std::pair(*low, *high);
  }
  string_view& rest() { return rest_; }

 private:
  string_view rest_;
};

}  // namespace

class GrammarParser {
 public:
  void parse(string_view file, string_view text) {
    for (int number = 1; !text.empty(); ++number) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      try {
        see(text.substr(0, end));
      } catch (const std::invalid_argument& error) {
        throw std::runtime_error(std::string(file) + ":" + std::to_string(number) + ": " +
                                 error.what());
      }
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  Grammar finish(string_view file) {
    for (const Grammar::Rule& rule : grammar_.rules_) {
      if (!rule.is_defined) {
        throw std::runtime_error(std::string(file) + ": nothing is called " + rule.name);
      }
    }
    for (std::size_t i = 0; i < grammar_.shapes_.size(); ++i) {
      if (grammar_.shapes_[i].first_session >= grammar_.sessions_) {
        throw std::runtime_error(std::string(file) + ": @waits and @by need @sessions");
      }
      if (grammar_.shapes_[i].pipelined_from && !grammar_.has_connections_) {
        throw std::runtime_error(std::string(file) + ": @pipelined needs @connections");
      }
      grammar_.weighted_.insert(grammar_.weighted_.end(), grammar_.shapes_[i].weight, i);
    }
    if (grammar_.weighted_.empty()) throw std::runtime_error(std::string(file) + ": no shapes");
    return std::move(grammar_);
  }

 private:
  using Node = Grammar::Node;

  void see(string_view text) {
    Line line(text);
    line.skip_blanks();
    if (line.empty() || line.at("#")) return;
    if (line.take("@sessions ")) {
      grammar_.sessions_ = number(line);
    } else if (line.take("@connections ")) {
      grammar_.sessions_ = number(line);
      grammar_.has_connections_ = true;
    } else if (line.take("@databases ")) {
      grammar_.databases_ = number(line);
    } else if (!see_rule(line)) {
      see_shape(line);
    }
  }

  static int number(Line& line) {
    const auto value = parse_int64(line.rest());
    if (!value || *value < 1) mistake("no number");
    return static_cast<int>(*value);
  }

  bool see_rule(Line& line) {
    Line ahead = line;
    const string_view name = ahead.take_until([](char c) { return !is_name_character(c); });
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0) return false;
    ahead.skip_blanks();
    const bool once = ahead.take(":=");
    if (!once && !ahead.take("=")) return false;
    Node node = choice(ahead);
    expect_end(ahead);
    const std::size_t index = rule_called(name);
    grammar_.rules_[index] = {std::string(name), true, once, std::move(node)};
    return true;
  }

  void see_shape(Line& line) {
    Grammar::Shape shape;
    const bool is_first = line.take("@first ");
    if (is_first) shape.mistakes = Mistakes::kNone;
    if (line.take("@by ")) {
      const auto sessions = range(line);
      shape.first_session = static_cast<int>(sessions.first);
      shape.last_session = static_cast<int>(sessions.second);
      line.skip_blanks();
    }
    if (line.take("@exact ")) shape.mistakes = Mistakes::kNone;
    if (line.take("@timed ")) shape.mistakes = Mistakes::kNoShortTimes;
    if (line.take("@waits ")) {
      shape.mistakes = Mistakes::kNoShortTimes;
      shape.first_session = std::max(shape.first_session, 1);
    }
    Line ahead = line;
    if (const auto weight = parse_int64(ahead.take_until(is_blank))) {
      shape.weight = static_cast<std::size_t>(*weight);
      line = ahead;
    }
    do {
      line.skip_blanks();
      if (line.take("@pipelined ")) shape.pipelined_from = shape.commands.size();
      Grammar::Shape::Command command;
      const char* const begin = line.rest().data();
      command.slack = take_slack(line.rest());
      command.directives = std::string(begin, line.rest().data());
      command.node = sequence(line);
      if (command.node.children.empty()) mistake("no command");
      shape.commands.push_back(std::move(command));
    } while (line.take(";"));
    expect_end(line);
    (is_first ? grammar_.first_ : grammar_.shapes_).push_back(std::move(shape));
  }

  static void expect_end(Line& line) {
    line.skip_blanks();
    if (!line.empty()) mistake("unexpected: " + std::string(line.rest()));
  }

  // ---- Nodes ----

  Node choice(Line& line) {
    Node node{.kind = Node::Kind::kChoice};
    do {
      node.children.push_back(sequence(line));
    } while (line.take("|"));
    return node;
  }

  Node sequence(Line& line) {
    Node node{.kind = Node::Kind::kSequence};
    for (;;) {
      line.skip_blanks();
      if (line.empty() || line.at("|") || line.at(")") || line.at("]") || line.at("}") ||
          line.at(";")) {
        return node;
      }
      node.children.push_back(joined(line));
    }
  }

  Node joined(Line& line) {
    Node first = repeated(line);
    if (!line.at("~")) return first;
    Node node{.kind = Node::Kind::kJoined};
    node.children.push_back(std::move(first));
    while (line.take("~")) node.children.push_back(repeated(line));
    return node;
  }

  Node repeated(Line& line) {
    Node node = atom(line);
    constexpr std::int64_t kUsualMax = 4;
    if (line.take("+")) return repeat(std::move(node), {1, kUsualMax});
    if (line.take("^")) return repeat(std::move(node), range(line));
    if (line.take("*")) {
      Node joined{.kind = Node::Kind::kJoined};
      joined.children.push_back(repeat(std::move(node), range(line)));
      return joined;
    }
    return node;
  }

  static Node repeat(Node node, std::pair<std::int64_t, std::int64_t> times) {
    Node repeated{.kind = Node::Kind::kRepeated, .low = times.first, .high = times.second};
    repeated.children.push_back(std::move(node));
    return repeated;
  }

  static std::pair<std::int64_t, std::int64_t> range(Line& line) {
    const auto range = line.take_range();
    if (!range || range->first < 0) mistake("no number of times");
    return *range;
  }

  Node atom(Line& line) {
    if (line.take("(")) return closed(choice(line), ")", line);
    if (line.take("[")) return wrapped(Node::Kind::kOptional, closed(choice(line), "]", line));
    if (line.take("{")) return wrapped(Node::Kind::kOptions, closed(choice(line), "}", line));
    if (line.take("counted(")) {
      return wrapped(Node::Kind::kCounted, closed(choice(line), ")", line));
    }
    if (line.at("\"")) return {.kind = Node::Kind::kText, .text = line.take_quoted()};
    if (const auto range = line.take_range()) {
      return {.kind = Node::Kind::kNumber, .low = range->first, .high = range->second};
    }
    const char front = line.rest().front();
    if (is_name_character(front) && std::isdigit(static_cast<unsigned char>(front)) == 0) {
      return named(line.take_until([](char c) { return !is_name_character(c); }));
    }
    const string_view word = line.take_until([](char c) {
      return is_blank(c) || string_view("|()[]{};~^").find(c) != string_view::npos;
    });
    if (word.empty()) mistake("unexpected: " + std::string(line.rest()));
    return {.kind = Node::Kind::kKeyword, .text = std::string(word)};
  }

  static Node closed(Node node, string_view end, Line& line) {
    if (!line.take(end)) mistake("no " + std::string(end));
    return node;
  }
  static Node wrapped(Node::Kind kind, Node child) {
    Node node{.kind = kind};
    node.children.push_back(std::move(child));
    return node;
  }

  Node named(string_view name) {
    static const std::map<string_view, Node::Kind> kBuiltIn = {
        {"integer", Node::Kind::kInteger}, {"float", Node::Kind::kFloat},
        {"bytes", Node::Kind::kBytes},     {"ascending", Node::Kind::kAscending},
        {"recent", Node::Kind::kRecent},   {"client", Node::Kind::kClient},
    };
    if (const auto found = kBuiltIn.find(name); found != kBuiltIn.end()) {
      return {.kind = found->second};
    }
    return {.kind = Node::Kind::kName, .name = rule_called(name)};
  }

  std::size_t rule_called(string_view name) {
    const auto next = grammar_.rules_.size();
    const auto [place, is_new] = indices_.try_emplace(std::string(name), next);
    if (is_new) grammar_.rules_.push_back({.name = std::string(name)});
    return place->second;
  }

  Grammar grammar_;
  std::map<std::string, std::size_t> indices_;
};

Grammar Grammar::parse(string_view file, string_view words, string_view shapes) {
  GrammarParser parser;
  parser.parse("words", words);
  parser.parse(file, shapes);
  return parser.finish(file);
}

}  // namespace rushgate::testing
