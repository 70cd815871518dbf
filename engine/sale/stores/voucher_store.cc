#include <algorithm>
#include <functional>

#include "engine/core/base/concat.h"
#include <rushgate/order_store.h>

namespace rushgate {
namespace {

using State = VoucherVersion::State;

bool is_pending(const VoucherVersion& version) { return version.state == State::kPending; }

std::string name_of(VoucherId voucher, std::int64_t version) {
  return concat("version ", version, " of voucher ", voucher);
}

std::optional<VoucherVersion> find_applied(const std::vector<VoucherVersion>& versions) {
  const auto found =
      std::find_if(versions.rbegin(), versions.rend(),
                   [](const VoucherVersion& version) { return version.state == State::kApplied; });
  if (found == versions.rend()) return std::nullopt;
  return *found;
}

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
  return find_applied(*found);
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

absl::Status check_next_version(const VoucherVersion& version, std::int64_t highest) {
  if (version.version == highest + 1) return absl::OkStatus();
  return absl::FailedPreconditionError(concat(name_of(version.voucher.id, version.version),
                                              " cannot be recorded: its highest version is ",
                                              highest));
}

absl::Status check_resolution(VoucherId voucher, std::int64_t version,
                              std::optional<VoucherVersion::State> state,
                              VoucherVersion::State new_state) {
  const std::string name = name_of(voucher, version);
  if (new_state == State::kPending) {
    return absl::InvalidArgumentError(concat(name, " cannot become pending"));
  }
  if (!state) return absl::NotFoundError(concat(name, " does not exist"));
  if (*state == State::kPending || *state == new_state) return absl::OkStatus();
  return absl::FailedPreconditionError(name + " was " + std::string(version_state_name(*state)) +
                                       " before");
}

std::optional<std::int64_t> stock_of(const std::vector<VoucherVersion>& versions) {
  std::optional<std::int64_t> most;
  if (const auto in_force = find_applied(versions)) most = in_force->voucher.stock;
  for (const VoucherVersion& version : versions) {
    if (!is_pending(version)) continue;
    most = std::max(most.value_or(version.voucher.stock), version.voucher.stock);
  }
  return most;
}

}  // namespace rushgate
