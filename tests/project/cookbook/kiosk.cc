#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>

#include <rushgate/flash_sale.h>

namespace {

using namespace rushgate;

constexpr VoucherId kTea = 7;

/// The first process: it sells until it is killed.
void sell_and_die(const std::string& dir) {
  const auto sale = FlashSale::open(dir).value();
  // At each start: it takes back neither stock that was added since nor another price.
  const Voucher tea = {.id = kTea, .title = "Tea", .stock = 4, .price_cents = 250};
  if (!sale->publish_if_new(tea).ok()) return;
  for (const std::int64_t user : {1, 2, 3}) sale->buy(kTea, user, "click-" + std::to_string(user));
  (void)std::raise(SIGKILL);  // orders may be queued, and not be in the database yet
}

/// Writes all stored orders, in portions.
bool export_orders(OrderStore& orders, const std::filesystem::path& file) {
  std::FILE* const csv = std::fopen(file.c_str(), "w");
  if (csv == nullptr) return false;
  std::fputs("order,user,voucher,status,admitted_at_ms\n", csv);
  const bool is_read =
      for_each_order(orders, {}, [&](const Order& order) {
        std::fprintf(csv, "%lld,%s,%lld,%s,%lld\n", static_cast<long long>(order.id),
                     order.user.text().c_str(), static_cast<long long>(order.voucher),
                     order_status_name(order.status).data(),
                     static_cast<long long>(order.admitted_at_ms));
      }).ok();
  return std::fclose(csv) == 0 && is_read;
}

}  // namespace

/// Argument: a directory.
int main(int argc, char** argv) {
  const std::string dir = argc > 1 ? argv[1] : "kiosk";
  const pid_t first = fork();  // before this process has threads
  if (first == 0) sell_and_die(dir);
  int status = 0;
  waitpid(first, &status, 0);
  std::printf("killed: %d\n", WIFSIGNALED(status));

  const auto sale = FlashSale::open(dir).value();
  // The result of the last click is lost with the process. Its key makes it safe to repeat.
  const BuyResult again = sale->buy(kTea, 3, "click-3");
  std::printf("click-3: %s, repeated: %d\n", outcome_name(again.outcome).data(), again.is_repeated);

  // A change publishes the whole voucher again. The stock counts the sold pieces too.
  if (!sale->publish({.id = kTea, .title = "Tea", .stock = 5, .price_cents = 200}).ok()) return 1;
  std::printf("user 4: %s\n", outcome_name(sale->buy(kTea, 4).outcome).data());

  if (!sale->sale().close(kTea).ok()) return 1;
  std::printf("user 5: %s\n", outcome_name(sale->buy(kTea, 5).outcome).data());

  if (!sale->drain().ok()) return 1;  // an export before it would miss queued orders
  if (!export_orders(sale->orders(), std::filesystem::path(dir) / "orders.csv")) return 1;
  const VoucherSummary tea = sale->voucher(kTea).value().value();
  std::printf("exported: %lld orders, free: %lld, audit %s\n",
              static_cast<long long>(sale->orders().count_live(kTea).value()),
              static_cast<long long>(tea.free.value_or(-1)),
              sale->audit()->passed() ? "passed" : "failed");
}
