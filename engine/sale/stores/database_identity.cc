#include "engine/sale/stores/database_identity.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "engine/core/base/concat.h"
#include <rushgate/order_store.h>

namespace rushgate {
namespace {

// The 16 digits of an identity, by its use. So it says which database it is in every use.
constexpr std::array<std::string_view, 3> kDigits = {"0123456789abcdef", "ghijklmnopqrstuv",
                                                     "GHIJKLMNOPQRSTUV"};
constexpr std::size_t kLength = 16;

std::string_view digits_of(DatabaseUse use) { return kDigits[static_cast<std::size_t>(use)]; }

/// Returns nothing for an identity that has none.
std::optional<DatabaseUse> find_use(const std::string& identity) {
  if (identity.size() != kLength) return std::nullopt;
  for (const DatabaseUse use :
       {DatabaseUse::kOpen, DatabaseUse::kMoved, DatabaseUse::kUnfinished}) {
    if (identity.find_first_not_of(digits_of(use)) == std::string::npos) return use;
  }
  return std::nullopt;
}

}  // namespace

DatabaseUse use_of(const std::string& identity) {
  return find_use(identity).value_or(DatabaseUse::kOpen);
}

std::string identity_for(const std::string& identity, DatabaseUse use) {
  const auto present = find_use(identity);
  if (!present) return identity;
  std::string other = identity;
  for (char& digit : other) digit = digits_of(use)[digits_of(*present).find(digit)];
  return other;
}

absl::Status check_open(const DatabaseState& state) {
  switch (use_of(state.identity)) {
    case DatabaseUse::kOpen:
      return absl::OkStatus();
    case DatabaseUse::kMoved:
      return absl::FailedPreconditionError(
          "the orders were moved to another database (rushgate orders copy): use that one");
    case DatabaseUse::kUnfinished:
      break;
  }
  return absl::FailedPreconditionError(
      "the order database is an unfinished copy: run `rushgate orders copy` again, to its end");
}

}  // namespace rushgate
