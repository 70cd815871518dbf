#include <functional>

#include "engine/core/base/status_macros.h"
#include <rushgate/order_store.h>

namespace rushgate {
namespace {

using State = VoucherVersion::State;

bool is_pending(const VoucherVersion& version) { return version.state == State::kPending; }

}  // namespace

absl::StatusOr<std::vector<VoucherVersion>> VoucherStore::pending() {
  auto versions = all_versions();
  if (versions.ok()) std::erase_if(*versions, std::not_fn(is_pending));
  return versions;
}

absl::StatusOr<std::optional<VoucherVersion>> VoucherStore::latest(VoucherId voucher) {
  ASSIGN_OR_RETURN(const auto found, versions(voucher));
  if (found.empty()) return std::nullopt;
  return found.back();
}

absl::StatusOr<std::optional<VoucherVersion>> VoucherStore::applied(VoucherId voucher) {
  ASSIGN_OR_RETURN(const auto found, versions(voucher));
  return version_in_force(found);
}

absl::StatusOr<std::vector<VoucherVersion>> VoucherStore::all_applied() {
  ASSIGN_OR_RETURN(const auto versions, all_versions());
  std::vector<VoucherVersion> in_force;
  for (const VoucherVersion& version : versions) {
    if (version.state != State::kApplied) continue;
    const bool is_newer = !in_force.empty() && in_force.back().voucher.id == version.voucher.id;
    if (is_newer) in_force.pop_back();
    in_force.push_back(version);
  }
  return in_force;
}

}  // namespace rushgate
