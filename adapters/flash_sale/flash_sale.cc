#include <algorithm>

#include "adapters/flash_sale/backup.h"
#include "adapters/flash_sale/flash_sale_impl.h"
#include "engine/core/base/status_macros.h"
#include <rushgate/flash_sale.h>
#include <rushgate/open_backend.h>
#include <rushgate/sale_statistics.h>

namespace rushgate {

FlashSale::FlashSale(std::unique_ptr<Impl> impl) : impl_(std::move(impl)), sale_(impl_->sale()) {}

FlashSale::~FlashSale() = default;

absl::StatusOr<std::unique_ptr<FlashSale>> FlashSale::open(std::string_view dir_or_url,
                                                           const FlashSaleOptions& options) {
  ASSIGN_OR_RETURN(const auto place, BackendUrl::parse(dir_or_url));
  return open(place, options);
}

absl::StatusOr<std::unique_ptr<FlashSale>> FlashSale::open(const BackendUrl& place,
                                                           const FlashSaleOptions& options) {
  auto impl = std::make_unique<Impl>(options);
  RETURN_IF_ERROR(impl->open(place));
  return std::unique_ptr<FlashSale>(new FlashSale(std::move(impl)));
}

absl::StatusOr<std::unique_ptr<FlashSale>> FlashSale::open(std::unique_ptr<Backend> backend,
                                                           std::unique_ptr<OrderStore> orders,
                                                           const FlashSaleOptions& options) {
  return open(std::move(backend), std::move(orders), nullptr, options);
}

absl::StatusOr<std::unique_ptr<FlashSale>> FlashSale::open(std::unique_ptr<Backend> backend,
                                                           std::unique_ptr<OrderStore> orders,
                                                           std::unique_ptr<VoucherStore> vouchers,
                                                           const FlashSaleOptions& options) {
  auto impl = std::make_unique<Impl>(options);
  RETURN_IF_ERROR(impl->open(std::move(backend), std::move(orders), std::move(vouchers)));
  return std::unique_ptr<FlashSale>(new FlashSale(std::move(impl)));
}

bool FlashSale::submit_buy(BuyRequest request, BuyCompletion completion) {
  return impl_->submitted().submit(std::move(request), std::move(completion));
}
bool FlashSale::submit_pay(PayRequest request, ChangeCompletion completion) {
  return impl_->submitted().submit(std::move(request), std::move(completion));
}
bool FlashSale::submit_cancel(OrderId order, std::string reason, std::string actor,
                              ChangeCompletion completion) {
  return impl_->submitted().submit([order, reason = std::move(reason), actor = std::move(actor)](
                                       Sale& sale) { return sale.cancel(order, reason, actor); },
                                   std::move(completion));
}
bool FlashSale::submit_use(OrderId order, std::string actor, ChangeCompletion completion) {
  return impl_->submitted().submit(
      [order, actor = std::move(actor)](Sale& sale) { return sale.use(order, actor); },
      std::move(completion));
}
bool FlashSale::submit_refund(OrderId order, std::string reason, std::string actor,
                              ChangeCompletion completion) {
  return impl_->submitted().submit([order, reason = std::move(reason), actor = std::move(actor)](
                                       Sale& sale) { return sale.refund(order, reason, actor); },
                                   std::move(completion));
}
bool FlashSale::submit_publish(Voucher voucher, VoucherCompletion completion) {
  return impl_->submitted().submit(
      [voucher = std::move(voucher)](Sale& sale) { return sale.publish(voucher); },
      std::move(completion));
}
bool FlashSale::submit_add_stock(VoucherId voucher, std::int64_t delta,
                                 VoucherCompletion completion) {
  return impl_->submitted().submit(
      [voucher, delta](Sale& sale) { return sale.add_stock(voucher, delta); },
      std::move(completion));
}
std::size_t FlashSale::poll(std::size_t budget) {
  const std::size_t completed = impl_->submitted().poll(budget);
  impl_->workers().report_stock();
  return completed;
}

absl::Status FlashSale::drain(absl::FunctionRef<void(const std::string& note)> waiting) {
  impl_->submitted().decide_all();
  return impl_->workers().drain(waiting);
}

absl::Status FlashSale::start_workers() { return impl_->workers().start(); }
void FlashSale::stop_workers() { impl_->workers().stop(); }
absl::StatusOr<Backlog> FlashSale::backlog() { return impl_->workers().backlog(); }
std::size_t FlashSale::stored() const { return impl_->workers().stored(); }
std::size_t FlashSale::buried() const { return impl_->workers().buried(); }
std::shared_ptr<const void> FlashSale::on_step(std::function<void()> notice) {
  return impl_->workers().on_step(std::move(notice));
}

Backend& FlashSale::backend() { return impl_->backend(); }
Client& FlashSale::client() { return impl_->client(); }
OrderStore& FlashSale::orders() { return impl_->orders(); }
const Clock& FlashSale::clock() const { return impl_->backend().clock(); }
SaleStatistics FlashSale::statistics() { return impl_->statistics().read(); }
absl::StatusOr<BackupReport> FlashSale::backup(const std::filesystem::path& dir,
                                               const BackupOptions& options) {
  return back_up(impl_->backend(), impl_->orders(), dir, options,
                 [this] { return sale_.purchases().total() + stored(); });
}
absl::Status FlashSale::health() const { return impl_->backend().health(); }

absl::Status FlashSale::readiness() const {
  absl::Status health = this->health();
  if (health.ok() || !impl_->backend().capabilities().has_slots) return health;
  const auto lanes = sale_.lanes();
  const bool is_any_reached = std::ranges::any_of(lanes, [this](const SaleLane& lane) {
    return impl_->client()("EXISTS", lane.keys.stream_owner()).is_integer();
  });
  return is_any_reached ? absl::OkStatus() : health;
}

}  // namespace rushgate
