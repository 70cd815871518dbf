#include "tests/conformance/compare.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/support/redis_server/raw_reply.h"

namespace rushgate::testing {
namespace {

/// Replaces a string that equals a variable's value by the variable's name: "$id".
void replace_by_names(Reply& reply, const Variables& variables) {
  if (reply.is_aggregate()) {
    for (Reply& element : reply.mutable_elements()) replace_by_names(element, variables);
  } else if (reply.has_text()) {
    const auto found = std::find_if(variables.begin(), variables.end(), [&](const auto& variable) {
      return variable.second == reply.text();
    });
    if (found != variables.end()) reply.mutable_text() = "$" + found->first;
  }
}

/// Returns a value that represents all of its kind.
Reply blank(const Reply& reply) {
  Reply same_kind = reply;
  if (reply.is_aggregate()) {
    same_kind.mutable_elements().clear();
  } else if (reply.has_text()) {
    same_kind.mutable_text().clear();
  } else if (reply.kind() == Reply::Kind::kDouble) {
    return Reply::real(0);
  } else if (reply.kind() == Reply::Kind::kBoolean) {
    return Reply::boolean(false);
  } else if (reply.is_integer()) {
    return Reply::integer(0);
  }
  return same_kind;
}

/// Returns a value that represents all of its kind with as many elements.
Reply blank_of_same_size(const Reply& reply) {
  if (!reply.is_aggregate()) return blank(reply);
  Reply same_size = reply;
  for (Reply& element : same_size.mutable_elements()) element = Reply::nil();
  return same_size;
}

/// Sorts elements in groups of `width`.
void sort_elements(Reply& reply, std::size_t width) {
  if (!reply.is_aggregate()) return;
  std::vector<Reply>& elements = reply.mutable_elements();
  std::vector<std::pair<std::string, std::vector<Reply>>> groups;
  for (std::size_t i = 0; i < elements.size(); i += width) {
    const std::size_t end = std::min(i + width, elements.size());
    std::vector<Reply> group(elements.begin() + static_cast<std::ptrdiff_t>(i),
                             elements.begin() + static_cast<std::ptrdiff_t>(end));
    groups.emplace_back(to_debug_string(Reply::array(group)), std::move(group));
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  elements.clear();
  for (auto& [key, group] : groups) {
    std::move(group.begin(), group.end(), std::back_inserter(elements));
  }
}

bool is_near(const Reply& a, const Reply& b, std::int64_t ms) {
  if (!a.is_integer() || !b.is_integer()) return false;
  // Unsigned, because the difference of any two integers fits.
  const auto low = static_cast<std::uint64_t>(std::min(a.integer(), b.integer()));
  const auto high = static_cast<std::uint64_t>(std::max(a.integer(), b.integer()));
  return high - low <= static_cast<std::uint64_t>(ms);
}

bool begin_with(const std::string& prefix, const Reply& a, const Reply& b) {
  const auto begins = [&](const Reply& reply) {
    const absl::string_view text = absl::StripPrefix(reply.text(), "txt:");  // of a verbatim string
    return absl::StartsWith(text, prefix);
  };
  return a.kind() == b.kind() && a.has_text() && begins(a) && begins(b);
}

/// Keeps only lines that begin with one of the prefixes.
void keep_lines(Reply& reply, const std::string& prefixes) {
  if (!reply.has_text()) return;
  const std::vector<std::string> beginnings = absl::StrSplit(prefixes, ',');
  std::string kept;
  for (const absl::string_view line : absl::StrSplit(reply.text(), "\r\n")) {
    const absl::string_view bare = absl::StripPrefix(line, "txt:");  // of a verbatim string
    const bool is_kept = std::ranges::any_of(
        beginnings, [&](const std::string& begin) { return absl::StartsWith(bare, begin); });
    if (is_kept) absl::StrAppend(&kept, line, "\r\n");
  }
  reply.mutable_text() = kept;
}

/// Removes from both replies all that the slack allows to differ.
void apply(const Slack& slack, Reply& oracle, Reply& subject) {
  const std::vector<Reply*> places = slack.at.find(oracle);
  const std::vector<Reply*> others = slack.at.find(subject);
  if (places.empty() && !slack.may_lack)
    throw std::runtime_error("the server's reply has no place for @at");
  for (std::size_t i = 0; i < std::min(places.size(), others.size()); ++i) {
    Reply& a = *places[i];
    Reply& b = *others[i];
    switch (slack.kind) {
      case Slack::Kind::kAny:
        a = blank(a);
        b = blank(b);
        break;
      case Slack::Kind::kSameSize:
        a = blank_of_same_size(a);
        b = blank_of_same_size(b);
        break;
      case Slack::Kind::kApproxMs:
        if (is_near(a, b, slack.ms)) b = a;
        break;
      case Slack::Kind::kPrefix:
        if (begin_with(slack.prefix, a, b)) b = a;
        break;
      case Slack::Kind::kLines:
        keep_lines(a, slack.prefix);
        keep_lines(b, slack.prefix);
        if (a.has_text() && a.text().empty()) {
          throw std::runtime_error("the server's reply has none of the @lines");
        }
        break;
      case Slack::Kind::kUnordered:
        sort_elements(a, 1);
        sort_elements(b, 1);
        break;
      case Slack::Kind::kPairsUnordered:
        sort_elements(a, 2);
        sort_elements(b, 2);
        break;
    }
  }
}

}  // namespace

std::optional<std::string> difference(std::span<const Slack> slack, const Answer& oracle,
                                      const Answer& subject) {
  const bool every_byte = slack.empty() && oracle.variables.empty();
  if (every_byte) {
    if (oracle.raw == subject.raw) return std::nullopt;
    return "the bytes differ";
  }
  Reply expected = parse_raw_reply(oracle.raw)->reply;
  Reply actual = parse_raw_reply(subject.raw)->reply;
  replace_by_names(expected, oracle.variables);
  replace_by_names(actual, subject.variables);
  for (const Slack& allowed : slack) apply(allowed, expected, actual);
  if (expected == actual) return std::nullopt;
  return "more than the allowed differs: " + escaped(to_debug_string(expected)) + " and " +
         escaped(to_debug_string(actual));
}

std::string captured(const Step& step, std::string_view raw) {
  Reply reply = parse_raw_reply(raw)->reply;
  const std::vector<Reply*> places = step.set_at.find(reply);
  if (places.size() == 1 && places[0]->has_text()) return places[0]->text();
  if (places.size() == 1 && places[0]->is_integer()) return std::to_string(places[0]->integer());
  throw std::runtime_error("neither a string nor an integer for @set " + step.set + " in " +
                           escaped(raw));
}

}  // namespace rushgate::testing
