#include "tests/project/structure/language.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>
#include <utility>

namespace rushgate::structure {
namespace {

using std::string_view;

// ---- The tables -------------------------------------------------------------------------------

/// A word or a phrase in lower case, and the word to write in its place.
struct WordBan {
  string_view words;
  string_view instead;
  string_view not_after = {};  // a word before it that makes both a term of the field
};

constexpr std::array kWordBans = {
    // clang-format off
    WordBan{"who", "a thing as the subject"},
    WordBan{"whom", "a thing as the subject"},
    WordBan{"whoever", "a thing as the subject"},
    WordBan{"nobody", "no client, no thread, none"},
    WordBan{"somebody", "a thing as the subject"},
    WordBan{"anybody", "a thing as the subject"},
    WordBan{"everybody", "a thing as the subject"},
    WordBan{"he", "the thing, or they"},
    WordBan{"him", "the thing, or them"},
    WordBan{"his", "its, or their"},
    WordBan{"what", "a noun"},
    WordBan{"whatever", "a noun"},
    WordBan{"those that", "a noun"},
    WordBan{"those who", "a noun"},
    WordBan{"those which", "a noun"},
    WordBan{"those whose", "a noun"},

    WordBan{"again from the start", "from scratch"},
    WordBan{"anew", "from scratch"},
    WordBan{"answer", "reply, return"},
    WordBan{"answered", "replied, returned"},
    WordBan{"answers", "replies, returns"},
    WordBan{"beside", "compared with, next to"},
    WordBan{"gather", "buffer, collect"},
    WordBan{"gathered", "buffered, collected"},
    WordBan{"gathers", "buffers, collects"},
    WordBan{"held up", "blocked, stalled"},
    WordBan{"holds up", "blocks, stalls"},
    WordBan{"let go of", "release, close"},
    WordBan{"lets go of", "releases, closes"},
    WordBan{"made from", "generated from"},
    WordBan{"mark", "savepoint, tombstone, position"},
    WordBan{"marks", "savepoints, tombstones, positions"},
    WordBan{"parked", "blocked"},
    WordBan{"parking", "blocked clients"},
    WordBan{"rebuild token", "fencing token"},
    WordBan{"request key", "idempotency key"},
    WordBan{"request keys", "idempotency keys"},
    WordBan{"room", "module, or space", "waiting"},
    WordBan{"rooms", "modules", "waiting"},
    WordBan{"scalar", "maybe-integer string"},
    WordBan{"settle", "a verb for this one meaning"},
    WordBan{"settled", "a verb for this one meaning"},
    WordBan{"settles", "a verb for this one meaning"},
    WordBan{"take back", "roll back, undo"},
    WordBan{"taken back", "rolled back, undone"},
    WordBan{"takes back", "rolls back, undoes"},
    WordBan{"tell", "report, return"},
    WordBan{"tells", "reports, returns"},
    WordBan{"text", "string, message"},
    WordBan{"texts", "strings, messages"},
    WordBan{"time is up", "expired, timed out"},
    WordBan{"time was up", "had expired, had timed out"},
    WordBan{"told", "reported, set"},
    WordBan{"touch", "prefetch, or make dirty"},
    WordBan{"touched", "prefetched, or made dirty"},
    WordBan{"touches", "prefetches, or makes dirty"},
    WordBan{"twin", "native implementation"},
    WordBan{"twins", "native implementations"},
    // clang-format on
};

constexpr std::size_t kTestNameWordsMax = 8;

/// Pages that quote the rules or the words of others.
constexpr std::array<string_view, 2> kExempt = {"tests/project/structure/language.cc",
                                                "tests/project/structure/language_test.cc"};

// ---- The prose of a file ----------------------------------------------------------------------

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '\'';
}

/// Returns the comment of a line of C++; empty if it has none.
string_view comment_of(string_view line) {
  bool quoted = false;
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && line.substr(i, 2) == "//") {
      return line.substr(i);
    }
  }
  return {};
}

/// Returns a line with its code spans, link targets and addresses blanked, as in Markdown.
std::string without_code_spans(string_view line) {
  std::string prose(line);
  bool is_code = false;
  bool is_target = false;
  bool is_address = false;
  for (std::size_t i = 0; i < prose.size(); ++i) {
    const char c = prose[i];
    if (c == '`') is_code = !is_code;
    if (c == '(' && i > 0 && line[i - 1] == ']') is_target = true;
    if (c == ')') is_target = false;
    if (line.substr(i).starts_with("https://")) is_address = true;
    if (c == ' ') is_address = false;
    if (is_code || is_target || is_address) prose[i] = '`';
  }
  return prose;
}

/// Returns the words of `prose` in lower case. Words in capitals are names of commands and become
/// empty, as do names of functions.
std::vector<std::string> words_of(string_view prose) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < prose.size();) {
    if (!is_word_character(prose[i])) {
      ++i;
      continue;
    }
    const std::size_t start = i;
    while (i < prose.size() && is_word_character(prose[i])) ++i;
    std::string word(prose.substr(start, i - start));
    const bool has_lower =
        std::any_of(word.begin(), word.end(), [](unsigned char c) { return std::islower(c) != 0; });
    const bool is_call = i < prose.size() && prose[i] == '(';
    if (!has_lower || is_call) word.clear();
    for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    words.push_back(std::move(word));
  }
  return words;
}

/// Returns the words of a name in CamelCase: "XReadReplies2Nil" has X, Read, Replies2 and Nil.
std::vector<std::string> words_of_name(string_view name) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto is_upper = [&](std::size_t at) {
      return at < name.size() && std::isupper(static_cast<unsigned char>(name[at])) != 0;
    };
    const auto is_lower = [&](std::size_t at) {
      return at < name.size() && std::islower(static_cast<unsigned char>(name[at])) != 0;
    };
    const bool begins = i == 0 || (is_upper(i) && (!is_upper(i - 1) || is_lower(i + 1)));
    if (begins) words.emplace_back();
    words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  return words;
}

/// Returns the bans that `words` break, one for each place.
std::vector<const WordBan*> broken_bans(const std::vector<std::string>& words) {
  std::vector<const WordBan*> broken;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string phrase;
    for (std::size_t count = 1; count <= 4 && i + count <= words.size(); ++count) {
      if (count > 1) phrase += ' ';
      phrase += words[i + count - 1];
      for (const WordBan& ban : kWordBans) {
        const bool is_term = !ban.not_after.empty() && i > 0 && words[i - 1] == ban.not_after;
        if (ban.words == phrase && !is_term) broken.push_back(&ban);
      }
    }
  }
  return broken;
}

std::string rule_of(const WordBan& ban) {
  return '"' + std::string(ban.words) + "\" (write: " + std::string(ban.instead) + ')';
}

bool is_cpp(string_view file) { return file.ends_with(".h") || file.ends_with(".cc"); }

}  // namespace

std::vector<Lapse> check_language(string_view file, string_view contents) {
  std::vector<Lapse> lapses;
  if (std::find(kExempt.begin(), kExempt.end(), file) != kExempt.end()) return lapses;
  static const std::regex kTest(R"(^TEST(?:_F|_P)?\(\w+,\s*(\w+)\))");
  const bool is_page = file.ends_with(".md");
  bool in_code_block = false;
  std::size_t number = 0;
  while (!contents.empty()) {
    const string_view line = contents.substr(0, contents.find('\n'));
    contents.remove_prefix(std::min(line.size() + 1, contents.size()));
    ++number;
    const auto add = [&](std::string rule) {
      lapses.push_back({std::string(file), number, std::move(rule)});
    };
    if (is_page && line.starts_with("```")) in_code_block = !in_code_block;
    if (in_code_block) continue;
    std::string prose(is_cpp(file) ? comment_of(line) : line);
    if (is_page || is_cpp(file)) prose = without_code_spans(prose);
    for (const WordBan* const ban : broken_bans(words_of(prose))) add(rule_of(*ban));
    if (!is_cpp(file) || !line.starts_with("TEST")) continue;
    const std::string code(line);
    std::smatch test;
    if (!std::regex_search(code, test, kTest)) continue;
    const std::vector<std::string> words = words_of_name(test.str(1));
    for (const WordBan* const ban : broken_bans(words)) add(rule_of(*ban));
    if (words.size() > kTestNameWordsMax) {
      add("a test name of " + std::to_string(words.size()) + " words");
    }
  }
  return lapses;
}

}  // namespace rushgate::structure
