#include <fstream>
#include <system_error>

#include "adapters/flash_sale/flash_sale_impl.h"
#include "adapters/flash_sale/sale_directory.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include <rushgate/flash_sale.h>
#include <rushgate/move_sale.h>
#include <rushgate/open_backend.h>

namespace rushgate {
namespace {

namespace fs = std::filesystem;

/// Returns the name of a keyspace for people: its URL without user, password and options.
std::string name_of_keyspace(const BackendUrl& place, std::string_view url) {
  if (place.kind == BackendUrl::Kind::kDirectory) return fs::absolute(place.dir).string();
  std::string name(url.substr(0, url.find('?')));
  const std::size_t authority = name.find("//");
  const std::size_t at = name.rfind('@');
  if (authority != name.npos && at != name.npos && at > authority) {
    name.erase(authority + 2, at - authority - 1);
  }
  return name;
}

absl::Status write_text(const fs::path& file, std::string_view text) {
  std::ofstream out(file);
  out << text << '\n';
  out.close();
  return out ? absl::OkStatus() : absl::UnavailableError(concat("cannot write ", file.string()));
}

}  // namespace

absl::StatusOr<MoveReport> FlashSale::move(const BackendUrl& from, std::string_view to,
                                           const FlashSaleOptions& options,
                                           std::function<void(std::string_view step)> on_step) {
  ASSIGN_OR_RETURN(const auto place, BackendUrl::parse(to));
  for (const BackendUrl& each : {from, place}) {
    if (each.kind != BackendUrl::Kind::kMemory) continue;
    return absl::InvalidArgumentError(
        "a keyspace in the memory of a process ends with it: nothing is moved from it or to it");
  }
  FlashSaleOptions existing = options;
  existing.create_if_missing = false;
  // The directory that has the orders, and maybe the keyspace.
  const bool is_in_one = existing.orders.empty() && existing.orders_dir.empty();
  const fs::path& dir = is_in_one ? from.dir : existing.orders_dir;
  const bool comes_back = !dir.empty() && place.kind == BackendUrl::Kind::kDirectory &&
                          fs::absolute(place.dir).lexically_normal() ==
                              fs::absolute(keyspace_in(dir)).lexically_normal();
  const std::string name = name_of_keyspace(place, to);
  std::error_code ignored;
  if (comes_back && !fs::exists(keyspace_in(dir), ignored)) {
    RETURN_IF_ERROR(write_text(moved_mark_in(dir), "elsewhere"));
  }
  Impl sale(existing);
  RETURN_IF_ERROR(sale.open_parts(from));
  OpenBackendOptions opening;
  opening.client_name = "rushgate";
  opening.engine = options.engine;
  opening.logger = options.logger;
  ASSIGN_OR_RETURN(const auto target, open_backend(place, opening));
  ASSIGN_OR_RETURN(auto report, move_sale(sale.backend(), *target, SaleStores(sale.orders()),
                                          {.keys = options.sale.keys,
                                           .to_name = name,
                                           .patience_ms = options.patience_ms,
                                           .on_step = std::move(on_step),
                                           .logger = options.logger}));
  if (comes_back) {
    fs::remove(moved_mark_in(dir), ignored);
  } else if (!dir.empty() && fs::exists(keyspace_in(dir), ignored)) {
    RETURN_IF_ERROR(write_text(moved_mark_in(dir), name));
  }
  return report;
}

}  // namespace rushgate
