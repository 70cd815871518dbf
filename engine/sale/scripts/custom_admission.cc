#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string_view>

#include "engine/core/base/concat.h"
#include "engine/sale/scripts/word_template.h"
#include <rushgate/purchase.h>

namespace rushgate {
namespace {

constexpr std::array kOutcomesOfCodes = {
    Outcome::kAccepted,        Outcome::kSoldOut,    Outcome::kLimitReached,
    Outcome::kDayLimitReached, Outcome::kNotStarted, Outcome::kEnded,
    Outcome::kUnknownVoucher,  Outcome::kOverloaded, Outcome::kRefused};

absl::Status fault(std::string_view where, std::string_view what) {
  return absl::InvalidArgumentError(concat("admission.", where, ": ", what));
}

absl::Status check_words(std::string_view name, const std::vector<std::string>& words) {
  if (words.size() > CustomAdmission::kWordsMax)
    return fault(name, concat("more than ", CustomAdmission::kWordsMax));
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto parsed = WordTemplate::parse(words[i]);
    if (!parsed.ok())
      return fault(concat(name, "[", i, "]"), std::string(parsed.status().message()));
  }
  return absl::OkStatus();
}

absl::Status check_codes(const std::vector<CustomAdmission::Code>& codes) {
  if (codes.size() > CustomAdmission::kWordsMax)
    return fault("codes", concat("more than ", CustomAdmission::kWordsMax));
  std::set<std::int64_t> known;
  bool accepts = false;
  for (const CustomAdmission::Code& code : codes) {
    if (!known.insert(code.code).second)
      return fault("codes", concat(code.code, " stands there twice"));
    if (std::ranges::find(kOutcomesOfCodes, code.outcome) == kOutcomesOfCodes.end()) {
      return fault("codes", concat(code.code, " cannot mean \"",
                                   std::string(outcome_name(code.outcome)), "\""));
    }
    accepts = accepts || code.outcome == Outcome::kAccepted;
  }
  return accepts ? absl::OkStatus() : fault("codes", "none of them means \"accepted\"");
}

}  // namespace

absl::Status CustomAdmission::check() const {
  if (text.empty()) return fault("text", "is empty");
  if (text.size() > kTextBytesMax)
    return fault("text", concat("is longer than ", kTextBytesMax, " bytes"));
  if (text.starts_with("#!")) return fault("text", "begins with #!");
  for (const absl::Status& checked :
       {check_words("keys", keys), check_words("arguments", arguments), check_codes(codes)}) {
    if (!checked.ok()) return checked;
  }
  for (const auto& [placeholder, name] :
       {std::pair(WordTemplate::Placeholder::kUser, "<user>"),
        std::pair(WordTemplate::Placeholder::kOrder, "<order>")}) {
    const bool is_passed =
        std::ranges::any_of(arguments, [wanted = placeholder](const std::string& word) {
          return WordTemplate::parse(word)->has(wanted);
        });
    if (!is_passed) return fault("arguments", concat("none of them has ", name));
  }
  return absl::OkStatus();
}

}  // namespace rushgate
