#include "tests/conformance/random/exchange.h"

#include <algorithm>
#include <cctype>
#include <exception>
#include <utility>

#include "tests/conformance/compare.h"
#include "tests/support/redis_server/raw_reply.h"

namespace rushgate::testing {
namespace {

/// Not one of a grammar's sessions.
constexpr int kLookingSession = 1'000;

bool stands_bare(std::string_view word) {
  constexpr std::string_view kQuotedFor("\"'\\$", 4);
  return !word.empty() && std::all_of(word.begin(), word.end(), [&](unsigned char c) {
    return std::isgraph(c) != 0 && c < 0x7f &&
           kQuotedFor.find(static_cast<char>(c)) == std::string_view::npos;
  });
}

/// Returns a word in the notation of a transcript.
std::string quoted(std::string_view word) {
  constexpr std::size_t kLong = 30;
  if (stands_bare(word)) {
    const bool is_one_letter = word.find_first_not_of(word.front()) == std::string_view::npos &&
                               std::isalnum(static_cast<unsigned char>(word.front())) != 0;
    if (word.size() < kLong || !is_one_letter) return std::string(word);
    return "$repeat(" + std::to_string(word.size()) + "," + word.front() + ")";
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "\"";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text.append({'\\', c});
    } else if (byte >= 0x20 && byte < 0x7f) {
      text += c;
    } else {
      text.append({'\\', 'x', kDigits[byte / 16], kDigits[byte % 16]});
    }
  }
  return text + "\"";
}

std::string words_of(const Request& request) {
  std::string words;
  for (std::size_t i = 0; i < request.size(); ++i) {
    if (i > 0) words += ' ';
    words += quoted(request[i]);
  }
  return words;
}

RandomCommand question(std::string_view directives, Request request) {
  std::string_view rest = directives;
  return {kLookingSession, std::string(directives), take_slack(rest), std::move(request)};
}

/// Returns a command that shows the contents of a key of this type. The members of a hash or set that
/// `is_unordered` may come in any order.
RandomCommand show(std::string_view type, bool is_unordered, const std::string& key) {
  if (type == "hash") {
    return question(is_unordered ? "@pairs-unordered" : "", Request::of("HGETALL", key));
  }
  if (type == "set")
    return question(is_unordered ? "@unordered" : "", Request::of("SMEMBERS", key));
  if (type == "list") return question("", Request::of("LRANGE", key, 0, -1));
  if (type == "zset") return question("", Request::of("ZRANGE", key, 0, -1, "WITHSCORES"));
  if (type == "stream") {
    return question(
        "@any @if-at radix-tree-keys @any @if-at radix-tree-nodes "
        "@approx-ms 5000 @if-at seen-time @approx-ms 5000 @if-at groups.*.pending.*.2 "
        "@approx-ms 5000 @if-at consumers.*.pending.*.1",
        Request::of("XINFO", "STREAM", key, "FULL", "COUNT", 0));
  }
  return question("", Request::of("GET", key));
}

std::optional<std::string> contents_of_one_differ(Backend& oracle, Backend& subject, int database,
                                                  bool in_any_order) {
  std::vector<std::string> expected;
  const std::vector<RandomCommand> names = {question("", Request::of("SELECT", database)),
                                            question("@unordered", Request::of("KEYS", "*"))};
  if (auto mismatch = send_to_both(oracle, subject, kLookingSession, names, &expected)) {
    return mismatch->what;
  }
  const Reply keys = parse_raw_reply(expected[1])->reply;
  if (keys.elements().empty()) return std::nullopt;
  std::vector<RandomCommand> types;
  for (const Reply& key : keys.elements())
    types.push_back(question("", Request::of("TYPE", key.text())));
  for (const Reply& key : keys.elements()) {
    types.push_back(question("", Request::of("OBJECT", "ENCODING", key.text())));
    types.push_back(question("", Request::of("PEXPIRETIME", key.text())));
  }
  if (auto mismatch = send_to_both(oracle, subject, kLookingSession, types, &expected)) {
    return mismatch->what;
  }
  std::vector<RandomCommand> contents;
  const std::size_t count = keys.elements().size();
  for (std::size_t i = 0; i < count; ++i) {
    const Reply encoding = parse_raw_reply(expected[count + 2 * i])->reply;
    const std::string& key = keys.elements()[i].text();
    const bool is_unordered = encoding.text() == "hashtable" || in_any_order;
    contents.push_back(show(parse_raw_reply(expected[i])->reply.text(), is_unordered, key));
  }
  const auto mismatch = send_to_both(oracle, subject, kLookingSession, contents);
  return mismatch ? std::optional(mismatch->what) : std::nullopt;
}

}  // namespace

std::string transcript_line(const RandomCommand& command) {
  std::string line = command.directives;
  if (command.session != 0) line += std::to_string(command.session) + ": ";
  line += words_of(command.request);
  for (const Request& request : command.pipelined) line += " ; " + words_of(request);
  return line;
}

std::optional<std::string> answers_differ(const RandomCommand& command, std::string_view expected,
                                          std::string_view actual) {
  if (expected == actual) return std::nullopt;
  const Variables none;
  std::optional<std::string> what;
  try {
    what = difference(command.slack, {expected, none}, {actual, none});
    if (!what) return std::nullopt;
  } catch (const std::exception& error) {
    what = error.what();
  }
  return transcript_line(command) + "\n  " + *what + "\n  expected: " + escaped(expected) +
         "\n  actual:   " + escaped(actual);
}

std::optional<Mismatch> send_to_both(Backend& oracle, Backend& subject, int session,
                                     std::span<const RandomCommand> commands,
                                     std::vector<std::string>* expected) {
  std::vector<Request> requests;
  requests.reserve(commands.size());
  for (const RandomCommand& command : commands) requests.push_back(command.request);
  std::vector<std::string> answers = oracle.call_all(session, requests);
  const std::vector<std::string> actual = subject.call_all(session, requests);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (auto what = answers_differ(commands[i], answers[i], actual[i])) {
      return Mismatch{i, *std::move(what)};
    }
  }
  if (expected != nullptr) *expected = std::move(answers);
  return std::nullopt;
}

std::optional<std::string> contents_differ(Backend& oracle, Backend& subject, int databases,
                                           bool in_any_order) {
  for (int database = 0; database < databases; ++database) {
    if (auto what = contents_of_one_differ(oracle, subject, database, in_any_order)) {
      return "in database " + std::to_string(database) + ": " + *what;
    }
  }
  return std::nullopt;
}

bool has_hash_tables(Backend& backend, int databases) {
  const auto ask = [&backend](const Request& request) {
    return parse_raw_reply(backend.call_all(kLookingSession, std::vector{request}).front())->reply;
  };
  for (int database = 0; database < databases; ++database) {
    ask(Request::of("SELECT", database));
    const Reply keys = ask(Request::of("KEYS", "*"));
    for (const Reply& key : keys.elements()) {
      const Reply encoding = ask(Request::of("OBJECT", "ENCODING", key.text()));
      if (!encoding.is_nil() && encoding.text() == "hashtable") return true;
    }
  }
  return false;
}

}  // namespace rushgate::testing
