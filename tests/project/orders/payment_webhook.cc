#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rushgate/clock.h>
#include <rushgate/engine.h>
#include <rushgate/flash_sale.h>
#include <rushgate/memory_order_store.h>
#include <rushgate/memory_store.h>
#include <rushgate/payment_store.h>

namespace {

using namespace rushgate;

constexpr std::int64_t kPrice = 499;
constexpr std::int64_t kPaymentMs = std::int64_t{15} * 60'000;

/// An event of a payment provider. `order` is the reference that the shop gave with the payment.
struct ProviderEvent {
  std::string payment;
  OrderId order = 0;
  std::int64_t amount_cents = 0;
  bool is_refund = false;  // the provider has refunded the payment
};

/// The reply to the provider, which sends an event again until it is acknowledged.
enum class WebhookReply : std::uint8_t { kAcknowledge, kSendAgain };

/// Decides about an outcome. Every final one is acknowledged.
WebhookReply reply_to(ChangeOutcome outcome) {
  switch (outcome) {
    case ChangeOutcome::kDone:     // paid, now or by the same event before
    case ChangeOutcome::kTooLate:  // recorded: the payment is due back
      return WebhookReply::kAcknowledge;
    case ChangeOutcome::kRefused:       // not recorded: for an operator
    case ChangeOutcome::kUnknownOrder:  // the same
      std::printf("  an operator must look at this payment\n");
      return WebhookReply::kAcknowledge;
    case ChangeOutcome::kOverloaded:
    case ChangeOutcome::kUnavailable:
    case ChangeOutcome::kOutcomeUnknown:
    case ChangeOutcome::kFailed:
      break;
  }
  return WebhookReply::kSendAgain;
}

/// Handles an event, also if it is repeated, late or out of order.
WebhookReply on_webhook(FlashSale& sale, const ProviderEvent& event) {
  const ChangeResult result = event.is_refund ? sale.confirm_refund(event.payment)
                                              : sale.pay({.order = event.order,
                                                          .payment = event.payment,
                                                          .amount_cents = event.amount_cents});
  std::printf("%s of %s: %s%s%s%s\n", event.is_refund ? "refund" : "payment", event.payment.c_str(),
              std::string(change_outcome_name(result.outcome)).c_str(),
              result.is_repeated ? ", repeated" : "", result.detail.empty() ? "" : ": ",
              result.detail.c_str());
  // A refund that comes before its payment is recorded is repeated after it.
  if (event.is_refund && result.outcome == ChangeOutcome::kRefused) return WebhookReply::kSendAgain;
  return reply_to(result.outcome);
}

/// The provider's side: its payments, and its refunds by idempotency key.
class Provider {
 public:
  void receive(ProviderEvent payment) { payments_.push_back(std::move(payment)); }
  [[nodiscard]] const std::vector<ProviderEvent>& payments() const { return payments_; }
  void refund(const std::string& idempotency_key, std::int64_t amount_cents) {
    refunds_[idempotency_key] = amount_cents;
  }
  [[nodiscard]] std::size_t refunds() const { return refunds_.size(); }

 private:
  std::vector<ProviderEvent> payments_;
  std::map<std::string, std::int64_t> refunds_;
};

/// Asks for the payments that sent no webhook. Run it before the holds end, and once a day.
void fetch_payments(FlashSale& sale, const Provider& provider) {
  for (const ProviderEvent& payment : provider.payments()) (void)on_webhook(sale, payment);
}

/// Refunds each payment that is due: at the provider first, with the payment's id as idempotency
/// key, then in the sale. After a crash between the two, both are repeated.
absl::Status refund_due_payments(FlashSale& sale, Provider& provider) {
  return for_each_payment(
      *sale.orders().payments(), {.state = Payment::State::kDue}, [&](const Payment& payment) {
        provider.refund(payment.id, payment.amount_cents);
        (void)on_webhook(sale, {.payment = payment.id, .order = payment.order, .is_refund = true});
      });
}

std::string status_of(FlashSale& sale, OrderId order) {
  return std::string(order_status_name(sale.status(order)->order->status));
}

}  // namespace

/// A clock that moves by a call stands for the real one, so that the output is always the same.
int main() {
  ManualClock clock;
  auto engine = Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock}, {}).value();
  Engine& time = *engine;
  const auto sale =
      FlashSale::open(std::move(engine), std::make_unique<MemoryOrderStore>(), {.workers = 0})
          .value();
  Provider provider;
  const Voucher ticket = {
      .id = 7, .title = "Ticket", .stock = 3, .price_cents = kPrice, .payment_ms = kPaymentMs};
  if (!sale->publish_if_new(ticket).ok()) return 1;
  const OrderId first = sale->buy(ticket.id, 1).order;
  const OrderId second = sale->buy(ticket.id, 2).order;
  const OrderId third = sale->buy(ticket.id, 3).order;

  std::printf("repeated, and a second payment\n");
  (void)on_webhook(*sale, {.payment = "A", .order = first, .amount_cents = kPrice});
  (void)on_webhook(*sale, {.payment = "A", .order = first, .amount_cents = kPrice});
  (void)on_webhook(*sale, {.payment = "B", .order = first, .amount_cents = kPrice});

  std::printf("a wrong amount: not recorded\n");
  (void)on_webhook(*sale, {.payment = "F", .order = second, .amount_cents = 1});

  std::printf("lost, and found by asking the provider\n");
  provider.receive({.payment = "C", .order = second, .amount_cents = kPrice});
  fetch_payments(*sale, provider);

  std::printf("late: the hold has ended\n");
  time.advance_ms(kPaymentMs);
  if (!sale->drain().ok()) return 1;
  (void)on_webhook(*sale, {.payment = "D", .order = third, .amount_cents = kPrice});

  std::printf("out of order: a refund before its payment\n");
  const ProviderEvent refund = {.payment = "E", .order = third, .is_refund = true};
  const bool comes_again = on_webhook(*sale, refund) == WebhookReply::kSendAgain;
  (void)on_webhook(*sale, {.payment = "E", .order = third, .amount_cents = kPrice});

  if (!sale->drain().ok()) return 1;
  if (comes_again) (void)on_webhook(*sale, refund);

  std::printf("the payments that are due\n");
  if (!refund_due_payments(*sale, provider).ok()) return 1;

  const auto audit = sale->audit();
  std::printf("first %s, second %s, third %s; %d refunds; audit %s\n",
              status_of(*sale, first).c_str(), status_of(*sale, second).c_str(),
              status_of(*sale, third).c_str(), static_cast<int>(provider.refunds()),
              audit->passed() ? "passed" : "failed");
  std::printf("received %d = kept %d + due %d + refunded %d\n",
              static_cast<int>(audit->money.received), static_cast<int>(audit->money.kept),
              static_cast<int>(audit->money.due), static_cast<int>(audit->money.refunded));
}
