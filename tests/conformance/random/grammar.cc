#include "tests/conformance/random/grammar.h"

#include <algorithm>
#include <cctype>

namespace rushgate::testing {

RandomRound::RandomRound(const Grammar& grammar, Random& random)
    : grammar_(grammar), random_(random) {
  for (const Grammar::Rule& rule : grammar.rules_) {
    chosen_.push_back(rule.once ? random.below(rule.node.children.size()) : 0);
  }
}

std::vector<RandomStep> RandomRound::first() {
  std::vector<RandomStep> steps;
  for (const Grammar::Shape& shape : grammar_.first_) steps.push_back(step(shape));
  return steps;
}

RandomStep RandomRound::next() { return step(grammar_.shapes_[random_.pick(grammar_.weighted_)]); }

RandomStep RandomRound::step(const Grammar::Shape& shape) {
  constexpr std::size_t kMistakenPercent = 4;
  const int last_session = std::min(shape.last_session, grammar_.sessions_ - 1);
  const auto session = static_cast<int>(random_.between(shape.first_session, last_session));
  RandomStep step;
  for (std::size_t i = 0; i < shape.commands.size(); ++i) {
    const Grammar::Shape::Command& command = shape.commands[i];
    std::vector<std::string> words;
    say(command.node, words);
    if (random_.chance(kMistakenPercent)) make_mistakes(words, shape.mistakes, random_);
    Request request;
    for (const std::string& word : words) request.add(word);
    if (shape.pipelined_from && i > *shape.pipelined_from) {
      step.back().pipelined.push_back(std::move(request));
    } else {
      step.push_back({session, command.directives, command.slack, std::move(request)});
    }
  }
  return step;
}

void RandomRound::say(const Node& node, std::vector<std::string>& words) {
  switch (node.kind) {
    case Node::Kind::kText:
      return words.push_back(node.text);
    case Node::Kind::kKeyword:
      return words.push_back(keyword(node.text));
    case Node::Kind::kNumber:
      return words.push_back(std::to_string(random_.between(node.low, node.high)));
    case Node::Kind::kInteger:
      return words.push_back(random_integer(random_));
    case Node::Kind::kFloat:
      return words.push_back(random_float(random_));
    case Node::Kind::kBytes:
      return words.push_back(random_bytes(random_));
    case Node::Kind::kAscending:
      return words.push_back(std::to_string(++last_ascending_));
    case Node::Kind::kRecent: {
      constexpr std::int64_t kRecent = 20;
      const std::int64_t first = std::max<std::int64_t>(last_ascending_ - kRecent, 0);
      return words.push_back(std::to_string(random_.between(first, last_ascending_ + 1)));
    }
    case Node::Kind::kClient:
      return words.push_back("$client" +
                             std::to_string(random_.between(0, grammar_.sessions_ - 1)));
    case Node::Kind::kName: {
      const Grammar::Rule& rule = grammar_.rules_[node.name];
      if (rule.once) return say(rule.node.children[chosen_[node.name]], words);
      return say(rule.node, words);
    }
    case Node::Kind::kSequence:
      for (const Node& child : node.children) say(child, words);
      return;
    case Node::Kind::kChoice:
      return say(random_.pick(node.children), words);
    case Node::Kind::kOptional:
      if (random_.chance(50)) say(node.children[0], words);
      return;
    case Node::Kind::kOptions:
      return say_options(node.children[0], words);
    case Node::Kind::kJoined: {
      std::vector<std::string> parts;
      for (const Node& child : node.children) say(child, parts);
      std::string& joined = words.emplace_back();
      for (const std::string& part : parts) joined += part;
      return;
    }
    case Node::Kind::kRepeated:
      for (std::int64_t left = random_.between(node.low, node.high); left > 0; --left) {
        say(node.children[0], words);
      }
      return;
    case Node::Kind::kCounted:
      return say_counted(node.children[0], words);
  }
}

void RandomRound::say_options(const Node& choice, std::vector<std::string>& words) {
  constexpr std::size_t kEachPercent = 35;
  constexpr std::size_t kTwicePercent = 3;
  std::vector<const Node*> options;
  for (const Node& option : choice.children) {
    if (random_.chance(kEachPercent)) options.push_back(&option);
    if (random_.chance(kTwicePercent)) options.push_back(&option);
  }
  random_.shuffle(options);
  for (const Node* const option : options) say(*option, words);
}

void RandomRound::say_counted(const Node& node, std::vector<std::string>& words) {
  constexpr std::int64_t kMax = 3;
  constexpr std::size_t kWrongPercent = 3;
  const std::int64_t count = random_.between(1, kMax);
  const bool is_wrong = random_.chance(kWrongPercent);
  words.push_back(is_wrong ? random_integer(random_) : std::to_string(count));
  for (std::int64_t i = 0; i < count; ++i) say(node, words);
}

std::string RandomRound::keyword(const std::string& text) {
  constexpr std::size_t kOtherCasePercent = 10;
  std::string word = text;
  if (!random_.chance(kOtherCasePercent)) return word;
  for (char& c : word) {
    if (random_.chance(50)) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return word;
}

}  // namespace rushgate::testing
