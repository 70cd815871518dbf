// The scripts of payments in C++. They do the same as payment_scripts.cc, line by line. A native
// script that throws is rolled back, so no value is checked before the first change.
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/concat.h"
#include "engine/base/numbers.h"
#include "engine/sale/payments/payment_scripts.h"
#include "engine/sale/vouchers/sale_day.h"
#include <rushgate/reply.h>

namespace rushgate::payment_scripts {
namespace {

Reply reply_of(Outcome outcome) { return Reply::array({Reply::integer(outcome)}); }
Reply reply_of(Outcome outcome, std::string_view text) {
  return Reply::array({Reply::integer(outcome), Reply::bulk(text)});
}

/// Splits a string at each of the first spaces; the last part has the rest. Empty views where there
/// are fewer parts.
template <std::size_t kParts>
std::array<std::string_view, kParts> split(std::string_view text) {
  std::array<std::string_view, kParts> parts;
  for (std::size_t i = 0; i + 1 < kParts; ++i) {
    const std::size_t space = text.find(' ');
    parts[i] = text.substr(0, space);
    text = space == text.npos ? std::string_view() : text.substr(space + 1);
  }
  parts[kParts - 1] = text;
  return parts;
}

/// The description of a hold (SaleKeys::held()).
struct Hold {
  explicit Hold(std::string description) : text(std::move(description)), parts(split<5>(text)) {}
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  [[nodiscard]] std::string_view voucher() const { return parts[0]; }
  [[nodiscard]] std::string_view user() const { return parts[1]; }
  [[nodiscard]] std::int64_t quantity() const { return parse_int64(parts[2]).value_or(0); }
  [[nodiscard]] std::string_view amount() const { return parts[3]; }
  [[nodiscard]] std::int64_t admitted_ms() const { return parse_int64(parts[4]).value_or(0); }

  const std::string text;
  const std::array<std::string_view, 5> parts;
};

bool is_closed(NativeCall& call, std::string_view held, std::string_view voucher) {
  return call.hash_get(held, concat("closed:", voucher)).has_value();
}

/// Returns how an order's hold ended before, or that there was none.
Reply without_hold(NativeCall& call, std::string_view ended, std::string_view order) {
  const auto how = call.hash_get(ended, order);
  return how ? reply_of(kEnded, *how) : reply_of(kNotHeld);
}

Reply run_pay(NativeCall& call) {
  enum Key : std::size_t { kHolds, kHeld, kEndedKey, kPayments, kStream, kKeys };
  enum Argument : std::size_t { kOrder, kPayment, kAmount, kArguments };
  if (call.key_count() != kKeys || call.argument_count() != kArguments) {
    throw ScriptError("ERR paying needs five keys and three arguments");
  }
  const std::string_view order = call.argument(kOrder);
  const std::string_view payment = call.argument(kPayment);
  const std::string_view amount = call.argument(kAmount);
  if (const auto known = call.hash_get(call.key(kPayments), payment)) {
    const auto [its_order, its_amount, kind] = split<3>(*known);
    return its_order == order && its_amount == amount
               ? reply_of(kRepeated, kind)
               : reply_of(kIdReused, concat(its_order, " ", its_amount));
  }
  auto description = call.hash_get(call.key(kHeld), order);
  if (!description) return without_hold(call, call.key(kEndedKey), order);
  const Hold hold(*std::move(description));
  if (is_closed(call, call.key(kHeld), hold.voucher())) {
    return reply_of(kRebuilding, hold.voucher());
  }
  if (hold.amount() != amount) return reply_of(kWrongAmount, hold.amount());
  const NativeCall::Field fields[] = {{"event", "paid"},       {"id", order},
                                      {"userId", hold.user()}, {"voucherId", hold.voucher()},
                                      {"payment", payment},    {"amount", amount}};
  call.stream_append(call.key(kStream), fields);
  call.hash_set(call.key(kPayments), payment, concat(order, " ", amount, " paid"));
  call.hash_set(call.key(kEndedKey), order,
                concat(hold.voucher(), " ", hold.user(), " paid ", payment));
  call.hash_remove(call.key(kHeld), order);
  call.sorted_set_remove(call.key(kHolds), order);
  return reply_of(kDone);
}

/// Cancels orders of one voucher.
class Cancellation {
 public:
  explicit Cancellation(NativeCall& call) : call_(call) {
    call.hash_get_integers(call.key(kVoucher), kFields, fields_);
    const bool is_lost = !field(kVersion) || !call.get_integer(call.key(kStock));
    is_closed_ = is_lost || call.hash_get(call.key(kVoucher), "closed").has_value() ||
                 is_closed(call, call.key(kHeld), call.argument(kId));
    restocks_ = field(kRestock) != 0;
    restores_allowance_ = field(kAllowance) != 0;
  }

  Reply run() {
    if (field(kWaiting).value_or(0) > 0) return reply_of(kServes);
    std::vector<Reply> replies;
    replies.reserve(call_.argument_count() - kFirstOrder);
    for (std::size_t i = kFirstOrder; i < call_.argument_count(); ++i) {
      replies.push_back(end_hold(call_.argument(i)));
    }
    return Reply::array(std::move(replies));
  }

  enum Key : std::size_t {
    kVoucher,
    kStock,
    kBuyers,
    kDays,
    kHolds,
    kHeld,
    kEndedKey,
    kStream,
    kWaitingKey,
    kWaitingOrdersKey,
    kKeys
  };
  enum Argument : std::size_t { kId, kOnlyDue, kReason, kActor, kFirstOrder };

 private:
  enum FieldNumber : std::size_t {
    kVersion,
    kRestock,
    kAllowance,
    kCounted,
    kTotal,
    kPerDay,
    kOffset,
    kWaiting,
    kFieldCount
  };
  static constexpr std::array<std::string_view, kFieldCount> kFields = {
      "version", "restock", "allowance", "counted", "total", "per_day", "offset", "waiting"};

  [[nodiscard]] std::optional<std::int64_t> field(FieldNumber number) const {
    return fields_[number];
  }

  Reply end_hold(std::string_view order) {
    auto description = call_.hash_get(call_.key(kHeld), order);
    if (!description) return without_hold(call_, call_.key(kEndedKey), order);
    if (is_closed_) return reply_of(kRebuilding);
    const bool only_due = call_.argument(kOnlyDue) == "1";
    const auto deadline = call_.sorted_set_score(call_.key(kHolds), order);
    if (only_due && deadline && *deadline > static_cast<double>(call_.now_ms())) {
      return reply_of(kNotDue);
    }
    const Hold hold(*std::move(description));
    if (hold.voucher() != call_.argument(kId)) return reply_of(kNotHeld);
    append_event(order, hold);
    give_back(hold);
    call_.hash_set(call_.key(kEndedKey), order,
                   concat(hold.voucher(), " ", hold.user(), " cancelled ", call_.argument(kActor)));
    call_.hash_remove(call_.key(kHeld), order);
    call_.sorted_set_remove(call_.key(kHolds), order);
    return reply_of(kDone);
  }

  void append_event(std::string_view order, const Hold& hold) {
    const DecimalText keeps(keeps_of(!restocks_, !restores_allowance_));
    const NativeCall::Field fields[] = {
        {"event", "cancelled"},           {"id", order},
        {"userId", hold.user()},          {"voucherId", hold.voucher()},
        {"keeps", keeps.view()},          {"reason", call_.argument(kReason)},
        {"actor", call_.argument(kActor)}};
    call_.stream_append(call_.key(kStream), fields);
  }

  void give_back(const Hold& hold) {
    const std::int64_t quantity = hold.quantity();
    const std::string_view voucher = call_.key(kVoucher);
    if (restocks_) {
      call_.increment_by(call_.key(kStock), quantity);
      if (field(kTotal).value_or(0) > 0) call_.hash_increment_by(voucher, "admitted", -quantity);
    }
    if (restores_allowance_) {
      const std::string_view buyers = call_.key(kBuyers);
      if (field(kCounted).value_or(0) == 0) {
        call_.set_remove(buyers, hold.user());
      } else if (call_.hash_increment_by(buyers, hold.user(), -quantity) <= 0) {
        call_.hash_remove(buyers, hold.user());
      }
      if (field(kPerDay).value_or(0) > 0) free_day(hold);
    }
    if (restocks_ && !restores_allowance_) {
      call_.hash_increment_by(voucher, "given_back", quantity);
    }
    if (restores_allowance_ && !restocks_) call_.hash_increment_by(voucher, "withheld", quantity);
  }

  void free_day(const Hold& hold) {
    const std::string_view days = call_.key(kDays);
    const auto known = call_.hash_get(days, hold.user());
    if (!known) return;
    const std::string_view text = *known;
    const std::size_t colon = text.find(':');
    if (colon == text.npos) return;
    if (parse_int64(text.substr(0, colon)) !=
        sale_day(hold.admitted_ms(), field(kOffset).value_or(0))) {
      return;
    }
    const std::int64_t left = parse_int64(text.substr(colon + 1)).value_or(0) - hold.quantity();
    if (left <= 0) {
      call_.hash_remove(days, hold.user());
    } else {
      call_.hash_set(days, hold.user(), concat(text.substr(0, colon + 1), left));
    }
  }

  NativeCall& call_;
  std::array<std::optional<std::int64_t>, kFieldCount> fields_{};
  bool is_closed_ = false;
  bool restocks_ = false;
  bool restores_allowance_ = false;
};

Reply run_cancel(NativeCall& call) {
  if (call.key_count() != Cancellation::kKeys ||
      call.argument_count() <= Cancellation::kFirstOrder) {
    throw ScriptError("ERR cancelling needs ten keys, and four arguments before the first order");
  }
  return Cancellation(call).run();
}

}  // namespace

std::vector<NamedScript> native() {
  return {{std::string(kNativePay), run_pay}, {std::string(kNativeCancel), run_cancel}};
}

}  // namespace rushgate::payment_scripts
