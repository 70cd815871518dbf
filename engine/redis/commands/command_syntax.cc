#include "engine/redis/commands/command_syntax.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"

namespace rushgate {
namespace {

using Argument = SyntaxArgument;
using ArgumentKind = SyntaxArgument::Kind;
using Sequence = std::vector<Argument>;

// ---- Parsing ----

/// Attaches a word to the values that follow it, or to a choice.
Sequence with_words_in_front(Sequence sequence) {
  Sequence result;
  for (auto at = sequence.begin(); at != sequence.end();) {
    Argument argument = std::move(*at++);
    if (argument.kind != ArgumentKind::kWord || argument.is_optional) {
      result.push_back(std::move(argument));
      continue;
    }
    const auto belongs = [](const Argument& next) {
      return next.kind == ArgumentKind::kValue && !next.is_optional;
    };
    auto end = std::find_if_not(at, sequence.end(), belongs);
    if (end == at && end != sequence.end() && end->kind == ArgumentKind::kOneOf &&
        !end->is_optional)
      ++end;
    const std::string_view word = argument.text;
    if (end - at == 1) {
      argument = std::move(*at);
    } else if (end != at) {
      argument = {.kind = ArgumentKind::kBlock,
                  .parts = {std::make_move_iterator(at), std::make_move_iterator(end)}};
    }
    if (end != at) {
      argument.word = word;
      argument.since = std::prev(end)->since;
    }
    at = end;
    result.push_back(std::move(argument));
  }
  return result;
}

Argument as_one(Sequence sequence) {
  sequence = with_words_in_front(std::move(sequence));
  if (sequence.size() == 1) return std::move(sequence.front());
  return {.kind = ArgumentKind::kBlock, .parts = std::move(sequence)};
}

Argument one_of(std::vector<Sequence> alternatives) {
  if (alternatives.size() == 1) return as_one(std::move(alternatives.front()));
  Argument choice = {.kind = ArgumentKind::kOneOf};
  for (Sequence& alternative : alternatives) choice.parts.push_back(as_one(std::move(alternative)));
  return choice;
}

/// "x y [x y ...]": the last `count` arguments may repeat.
void repeat_last(Sequence& sequence, std::size_t count) {
  assert(count <= sequence.size());
  const auto first = sequence.end() - static_cast<std::ptrdiff_t>(count);
  Argument repeated =
      as_one(Sequence{std::make_move_iterator(first), std::make_move_iterator(sequence.end())});
  repeated.is_multiple = true;
  repeated.repeats_word = !repeated.word.empty();
  sequence.erase(first, sequence.end());
  sequence.push_back(std::move(repeated));
}

class Parser {
 public:
  explicit Parser(std::string_view syntax) : rest_(syntax) {}

  Sequence sequence() {
    Sequence sequence;
    for (;;) {
      const std::string_view token = next();
      if (token == "[") {
        add_optional(sequence, alternatives());
      } else if (token.starts_with(kSince)) {
        sequence.back().since = token.substr(1);
      } else if (token == "<") {
        sequence.push_back(one_of(alternatives()));
      } else if (token.empty() || token == "]" || token == ">" || token == "|") {
        end_ = token;
        return sequence;
      } else {
        const bool is_value = absl::ascii_islower(static_cast<unsigned char>(token.front()));
        sequence.push_back(
            {.kind = is_value ? ArgumentKind::kValue : ArgumentKind::kWord, .text = token});
      }
    }
  }

 private:
  static constexpr std::string_view kAgain = "...";
  static constexpr char kSince = '@';

  static void add_optional(Sequence& sequence, std::vector<Sequence> alternatives) {
    if (alternatives.front().back().text == kAgain)
      return repeat_last(sequence, alternatives.front().size() - 1);
    sequence.push_back(one_of(std::move(alternatives)));
    sequence.back().is_optional = true;
  }

  std::vector<Sequence> alternatives() {
    std::vector<Sequence> all;
    do {
      all.push_back(sequence());
    } while (end_ == "|");
    return all;
  }

  /// Returns the next bracket, bar, word or version with its sign; empty at the end.
  std::string_view next() {
    constexpr std::string_view kSigns = "[]<>|";
    rest_ = rest_.substr(std::min(rest_.find_first_not_of(' '), rest_.size()));
    if (rest_.empty()) return {};
    const bool is_sign = kSigns.find(rest_.front()) != std::string_view::npos;
    const std::size_t size =
        is_sign ? 1 : std::min(rest_.find_first_of(" []<>|@", 1), rest_.size());
    const std::string_view token = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return token;
  }

  std::string_view rest_;
  std::string_view end_;  // of the last sequence
};

// ---- Facts from names ----

constexpr std::string_view kNamesOfKeys[] = {"key",         "key1", "key2", "newkey",  "source",
                                             "destination", "src",  "dst",  "destkey", "sourcekey"};
constexpr std::string_view kNamesOfIntegers[] = {
    "client-id", "count",   "cursor",       "db",   "decrement",   "destination-db",
    "index",     "index1",  "index2",       "len",  "limit",       "milliseconds",
    "ms",        "offset",  "entries_read", "rank", "num-matches", "numkeys",
    "protover",  "seconds", "weight",
};
constexpr std::string_view kDoubles[] = {"height", "increment", "latitude", "longitude",
                                         "radius", "score",     "timeout",  "width"};

template <std::size_t kCount>
bool is_in(const std::string_view (&names)[kCount], std::string_view name) {
  return std::ranges::find(names, name) != std::end(names);
}

std::string word_name(std::string_view word) {
  if (word == "*") return "auto_id";
  if (word == "$") return "new_id";
  if (word == "=") return "equal";
  if (word == "~") return "approximately";
  return absl::AsciiStrToLower(std::string(word));
}

}  // namespace

std::vector<SyntaxArgument> parse_syntax(std::string_view syntax) {
  return with_words_in_front(Parser(syntax).sequence());
}

std::string argument_name(const SyntaxArgument& argument) {
  if (argument.kind == ArgumentKind::kWord) return word_name(argument.text);
  if (argument.kind == ArgumentKind::kValue) return std::string(argument.text);
  std::string name;
  for (const SyntaxArgument& part : argument.parts)
    name += (name.empty() ? "" : "_") + argument_name(part);
  return name;
}

std::string_view argument_type(const SyntaxArgument& argument) {
  switch (argument.kind) {
    case ArgumentKind::kWord:
      return "pure-token";
    case ArgumentKind::kOneOf:
      return "oneof";
    case ArgumentKind::kBlock:
      return "block";
    case ArgumentKind::kValue:
      break;
  }
  if (is_in(kNamesOfKeys, argument.text)) return "key";
  if (is_in(kNamesOfIntegers, argument.text)) return "integer";
  if (is_in(kDoubles, argument.text)) return "double";
  if (argument.text == "pattern") return "pattern";
  return argument.text.starts_with("unix-time") ? "unix-time" : "string";
}

}  // namespace rushgate
