#include <functional>

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
  const auto found = versions(voucher);
  if (!found.ok()) return found.status();
  if (found->empty()) return std::nullopt;
  return found->back();
}

absl::StatusOr<std::optional<VoucherVersion>> VoucherStore::applied(VoucherId voucher) {
  const auto found = versions(voucher);
  if (!found.ok()) return found.status();
  return version_in_force(*found);
}

absl::StatusOr<std::vector<VoucherVersion>> VoucherStore::all_applied() {
  const auto versions = all_versions();
  if (!versions.ok()) return versions.status();
  std::vector<VoucherVersion> in_force;
  for (const VoucherVersion& version : *versions) {
    if (version.state != State::kApplied) continue;
    const bool is_newer = !in_force.empty() && in_force.back().voucher.id == version.voucher.id;
    if (is_newer) in_force.pop_back();
    in_force.push_back(version);
  }
  return in_force;
}

}  // namespace rushgate
