#include "engine/sale/scripts/admission_guard.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_replace.h"
#include "engine/core/base/concat.h"
#include "engine/sale/model/order_entry.h"
#include "engine/sale/scripts/admission_guard.lua.h"

namespace rushgate {
namespace {

constexpr int kOwnArguments = 6;

/// Returns the lines of a script as one line, without its comments. No string in the script has "--".
std::string in_one_line(std::string_view script) {
  std::string line;
  while (!script.empty()) {
    const std::string_view next = script.substr(0, script.find('\n'));
    line.append(next.substr(0, next.find("--"))).append(" ");
    script.remove_prefix(std::min(next.size() + 1, script.size()));
  }
  return line;
}

/// The guard in one line, for `admission`.
std::string guard_of(const CustomAdmission& admission) {
  std::string codes;
  for (const CustomAdmission::Code& code : admission.codes) {
    const bool is_acceptance = code.outcome == Outcome::kAccepted;
    codes += concat("[", code.code, "]=", is_acceptance ? "true" : "false", ",");
  }
  std::string reserved;
  for (const std::string_view field : {kAdmittedField, kEntryField, kNoStockField})
    reserved += concat("'", field, "',");
  return absl::StrReplaceAll(in_one_line(lua::kAdmissionGuard),
                             {{"CODES", codes},
                              {"RESERVED", reserved},
                              {"ADMITTED", std::string(kAdmittedField)},
                              {"COUNTS_BUYERS", admission.counts_buyers ? "true" : "false"}});
}

}  // namespace

std::string guarded_admission(const CustomAdmission& admission) {
  return concat(
      "local rushgate_own, rushgate_reply, rushgate_check, rushgate_redis, rushgate_server = ",
      guard_of(admission), "if rushgate_reply then return rushgate_reply end ",
      "return rushgate_check((function(KEYS, ARGV, redis, server) ", admission.text,
      "\nend)({unpack(KEYS, rushgate_own + 1)}, {unpack(ARGV, ", kOwnArguments + 1,
      ")}, rushgate_redis, rushgate_server))");
}

}  // namespace rushgate
