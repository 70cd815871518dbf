// The longest common subsequence of two strings: https://redis.io/docs/latest/commands/lcs/
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"

namespace rushgate {
namespace {

struct LcsOptions {
  bool length = false;             // LEN
  bool matches = false;            // IDX
  bool with_match_len = false;     // WITHMATCHLEN
  std::int64_t match_len_min = 0;  // MINMATCHLEN
};

LcsOptions read_options(Arguments& arguments) {
  LcsOptions options;
  while (!arguments.at_end()) {
    if (arguments.accept("IDX")) {
      options.matches = true;
    } else if (arguments.accept("LEN")) {
      options.length = true;
    } else if (arguments.accept("WITHMATCHLEN")) {
      options.with_match_len = true;
    } else if (arguments.accept("MINMATCHLEN")) {
      options.match_len_min = arguments.next_integer();
    } else {
      arguments.fail(errors::syntax());
    }
  }
  if (options.matches && options.length) arguments.fail(errors::lcs_length_and_matches());
  return options;
}

/// A part that both strings share.
struct Match {
  std::size_t in_a;  // begin of the part
  std::size_t in_b;
  std::size_t length;
};

/// The lengths of the longest common subsequences of all prefixes of two strings.
class LcsTable {
 public:
  static bool fits(std::string_view a, std::string_view b) {
    constexpr std::size_t kCellsMax = kStringBytesMax / sizeof(std::uint32_t);
    return a.size() + 1 <= kCellsMax / (b.size() + 1);
  }

  LcsTable(std::string_view a, std::string_view b)
      : a_(a), b_(b), cells_(new (std::nothrow) std::uint32_t[(a.size() + 1) * (b.size() + 1)]) {
    if (cells_ == nullptr) return;
    for (std::size_t i = 0; i <= a.size(); ++i) {
      for (std::size_t j = 0; j <= b.size(); ++j) cell(i, j) = computed(i, j);
    }
  }

  /// Returns false if there was no memory; no other function may be called then.
  [[nodiscard]] bool ok() const { return cells_ != nullptr; }
  [[nodiscard]] std::size_t length() const { return cell(a_.size(), b_.size()); }

  /// Returns one of the longest subsequences as parts, the last first. The choice is Redis's: going
  /// back, matches are taken where possible, and a tie drops the byte of the second string.
  [[nodiscard]] std::vector<Match> matches() const {
    std::vector<Match> found;
    std::size_t i = a_.size();
    std::size_t j = b_.size();
    while (i > 0 && j > 0) {
      if (a_[i - 1] == b_[j - 1]) {
        --i;
        --j;
        const bool goes_on =
            !found.empty() && found.back().in_a == i + 1 && found.back().in_b == j + 1;
        if (goes_on) {
          found.back() = {i, j, found.back().length + 1};
        } else {
          found.push_back({i, j, 1});
        }
      } else if (cell(i - 1, j) > cell(i, j - 1)) {
        --i;
      } else {
        --j;
      }
    }
    return found;
  }

 private:
  [[nodiscard]] std::uint32_t& cell(std::size_t i, std::size_t j) const {
    return cells_[i * (b_.size() + 1) + j];
  }
  [[nodiscard]] std::uint32_t computed(std::size_t i, std::size_t j) const {
    if (i == 0 || j == 0) return 0;
    if (a_[i - 1] == b_[j - 1]) return cell(i - 1, j - 1) + 1;
    return std::max(cell(i - 1, j), cell(i, j - 1));
  }

  std::string_view a_;
  std::string_view b_;
  std::unique_ptr<std::uint32_t[]> cells_;
};

Reply range_reply(std::size_t begin, std::size_t length) {
  std::vector<Reply> range;
  range.push_back(Reply::integer(static_cast<std::int64_t>(begin)));
  range.push_back(Reply::integer(static_cast<std::int64_t>(begin + length - 1)));
  return Reply::array(std::move(range));
}

Reply matches_reply(const LcsTable& table, const LcsOptions& options) {
  std::vector<Reply> matches;
  for (const Match& match : table.matches()) {
    if (static_cast<std::int64_t>(match.length) < options.match_len_min) continue;
    std::vector<Reply> shown;
    shown.push_back(range_reply(match.in_a, match.length));
    shown.push_back(range_reply(match.in_b, match.length));
    if (options.with_match_len)
      shown.push_back(Reply::integer(static_cast<std::int64_t>(match.length)));
    matches.push_back(Reply::array(std::move(shown)));
  }
  std::vector<Reply> reply;
  reply.push_back(Reply::bulk("matches"));
  reply.push_back(Reply::array(std::move(matches)));
  reply.push_back(Reply::bulk("len"));
  reply.push_back(Reply::integer(static_cast<std::int64_t>(table.length())));
  return Reply::map(std::move(reply));
}

Reply subsequence_reply(const LcsTable& table, std::string_view a) {
  std::string text;
  std::vector<Match> matches = table.matches();
  std::reverse(matches.begin(), matches.end());
  for (const Match& match : matches) text += a.substr(match.in_a, match.length);
  return Reply::bulk(std::move(text));
}

Reply lcs_command(CommandContext& context) {
  Object* first = nullptr;
  Object* second = nullptr;
  if (!context.find(context[1], ValueType::kString, first) ||
      !context.find(context[2], ValueType::kString, second)) {
    return errors::lcs_not_strings();
  }
  Arguments arguments(context.request(), 3);
  const LcsOptions options = read_options(arguments);
  if (!arguments.ok()) return arguments.take_error();

  const std::string a = first == nullptr ? std::string() : first->string().bytes();
  const std::string b = second == nullptr ? std::string() : second->string().bytes();
  if (!LcsTable::fits(a, b)) return errors::lcs_too_large();
  const LcsTable table(a, b);
  if (!table.ok()) return errors::lcs_no_memory();
  if (options.matches) return matches_reply(table, options);
  if (options.length) return Reply::integer(static_cast<std::int64_t>(table.length()));
  return subsequence_reply(table, a);
}

// ---- The records ----

constexpr CommandSpec kLcsCommands[] = {
    {.name = "lcs",
     .function = lcs_command,
     .arity = -3,
     .flags = kReadOnly,
     .syntax = "key1 key2 [LEN] [IDX] [MINMATCHLEN len] [WITHMATCHLEN]",
     .summary = "Finds the longest sequence of bytes that two strings share.",
     .since = "7.0.0",
     .complexity = "O(N*M), the lengths of the strings"},
};

}  // namespace

CommandFamily lcs_commands() { return {CommandGroup::kString, kLcsCommands}; }

}  // namespace rushgate
