// The scripts that pay, cancel, find due orders and remove held ones, in C++:
// the same keys, arguments, replies and effects, with two exceptions. cancel() leaves a voucher with
// waiting users to the Lua script (kServes). And a failure half-way leaves nothing behind: the call is
// rolled back, or of several payments the one that failed. In Lua, earlier writes stay on a Redis, so
// a script there reads each key, which checks its type, before it writes to it.
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/sale/model/order_entry.h"
#include "engine/sale/model/voucher_terms.h"
#include "engine/sale/scripts/held_orders.h"
#include "engine/sale/scripts/payment_scripts.h"
#include <rushgate/reply.h>

namespace rushgate::payment_scripts {
namespace {

Reply reply_of(int outcome) { return Reply::array({Reply::integer(outcome)}); }
Reply reply_of(int outcome, std::string_view text) {
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

/// An order in SaleKeys::held(): its hold, or the end of it. Refers to the string.
struct Hold {
  explicit Hold(std::string_view value) : text(value), parts(split<6>(text)) {}

  /// Returns false for the end of a hold: its third part is no number.
  [[nodiscard]] bool is_open() const { return parse_int64(parts[2]).has_value(); }
  [[nodiscard]] std::string_view voucher() const { return parts[0]; }
  [[nodiscard]] std::string_view user() const { return parts[1]; }
  [[nodiscard]] std::int64_t quantity() const { return parse_int64(parts[2]).value_or(0); }
  [[nodiscard]] std::string_view amount() const { return parts[3]; }
  [[nodiscard]] std::int64_t admitted_ms() const { return parse_int64(parts[4]).value_or(0); }
  [[nodiscard]] std::int64_t due_ms() const { return parse_int64(parts[5]).value_or(0); }

  const std::string_view text;
  const std::array<std::string_view, 6> parts;
};

bool is_closed(NativeCall& call, std::string_view held, std::string_view voucher) {
  return call.hash_get(held, concat(kClosedField, voucher)).has_value();
}

/// Pays orders.
class Paying {
 public:
  explicit Paying(NativeCall& call) : call_(call), held_(call, call.key(kHeld)) {}

  Reply run() {
    std::vector<Reply> replies;
    replies.reserve(call_.argument_count() / kArguments);
    for (std::size_t i = 0; i < call_.argument_count(); i += kArguments) {
      held_.select(call_.argument(i + kOrder));  // outside of the attempt, which may be rolled back
      replies.push_back(call_.attempt([&] {
        return pay(call_.argument(i + kOrder), call_.argument(i + kPayment),
                   call_.argument(i + kAmount));
      }));
    }
    held_.write();
    return Reply::array(std::move(replies));
  }

  enum Key : std::size_t { kHeld, kPayments, kStream, kDeadOrders, kKeys };
  enum Argument : std::size_t { kOrder, kPayment, kAmount, kArguments };  // of each payment

 private:
  Reply pay(std::string_view order, std::string_view payment, std::string_view amount) {
    if (const auto known = call_.hash_get(call_.key(kPayments), payment)) {
      const auto [its_order, its_amount, kind] = split<3>(*known);
      return its_order == order && its_amount == amount
                 ? reply_of(kRepeated, kind)
                 : reply_of(kIdReused, concat(its_order, " ", its_amount));
    }
    const Hold hold(held_.find(order));
    if (hold.text.empty()) return reply_of(kNotHeld);
    if (!hold.is_open()) return reply_of(kHoldEnded, hold.text);
    if (is_closed(hold.voucher())) return reply_of(kVoucherClosed, hold.voucher());
    if (const auto dead = call_.hash_get(call_.key(kDeadOrders), order)) {
      return reply_of(kDead, *dead);
    }
    if (hold.amount() != amount) return reply_of(kWrongAmount, hold.amount());
    const NativeCall::Field fields[] = {{"event", "paid"},       {"id", order},
                                        {"userId", hold.user()}, {"voucherId", hold.voucher()},
                                        {"payment", payment},    {"amount", amount}};
    call_.stream_append(call_.key(kStream), fields);
    call_.hash_set(call_.key(kPayments), payment, concat(order, " ", amount, " paid"));
    held_.set(order, concat(hold.voucher(), " ", hold.user(), " paid ", payment));
    return reply_of(kDone);
  }

  /// Remembers the last voucher: nothing closes it during the call.
  bool is_closed(std::string_view voucher) {
    if (voucher != asked_voucher_) {
      asked_voucher_ = voucher;
      is_closed_ = payment_scripts::is_closed(call_, call_.key(kHeld), voucher);
    }
    return is_closed_;
  }

  NativeCall& call_;
  HeldOrders held_;
  std::string asked_voucher_;
  bool is_closed_ = false;
};

Reply run_pay(NativeCall& call) {
  if (call.key_count() != Paying::kKeys || call.argument_count() % Paying::kArguments != 0) {
    throw ScriptError("ERR paying needs four keys, and three arguments for each payment");
  }
  return Paying(call).run();
}

/// Cancels orders of one voucher.
class Cancellation {
 public:
  explicit Cancellation(NativeCall& call) : call_(call), held_(call, call.key(Keys::kHeld)) {
    call.hash_get_integers(call.key(Keys::kVoucher), kFields, fields_);
    const bool is_lost = !field(kVersion) || !call.get_integer(call.key(Keys::kStock));
    is_closed_ = is_lost || call.hash_get(call.key(Keys::kVoucher), "closed").has_value() ||
                 is_closed(call, call.key(Keys::kHeld), call.argument(kId));
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
    held_.write();
    give_back_pieces();
    return Reply::array(std::move(replies));
  }

  using Keys = lua::VoucherKeys;
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
    held_.select(order);
    const Hold hold(held_.find(order));
    if (hold.text.empty()) return reply_of(kNotHeld);
    if (!hold.is_open()) return reply_of(kHoldEnded, hold.text);
    if (is_closed_) return reply_of(kVoucherClosed);
    const bool only_due = call_.argument(kOnlyDue) == "1";
    if (only_due && hold.due_ms() > call_.now_ms()) return reply_of(kNotDue);
    if (hold.voucher() != call_.argument(kId)) return reply_of(kNotHeld);
    append_event(order, hold);
    give_back(hold);
    held_.set(order,
              concat(hold.voucher(), " ", hold.user(), " cancelled ", call_.argument(kActor)));
    return reply_of(kDone);
  }

  void append_event(std::string_view order, const Hold& hold) {
    const DecimalText keeps(keeps_of(!restocks_, !restores_allowance_));
    const NativeCall::Field fields[] = {
        {"event", "cancelled"},           {"id", order},
        {"userId", hold.user()},          {"voucherId", hold.voucher()},
        {"keeps", keeps.view()},          {"reason", call_.argument(kReason)},
        {"actor", call_.argument(kActor)}};
    call_.stream_append(call_.key(Keys::kStream), fields);
  }

  /// Gives the user's allowance back, and notes the pieces.
  void give_back(const Hold& hold) {
    const std::int64_t quantity = hold.quantity();
    pieces_ += quantity;
    if (!restores_allowance_) return;
    const std::string_view buyers = call_.key(Keys::kBuyers);
    if (field(kCounted).value_or(0) == 0) {
      call_.set_remove(buyers, hold.user());
    } else if (call_.hash_increment_by(buyers, hold.user(), -quantity) <= 0) {
      call_.hash_remove(buyers, hold.user());
    }
    if (field(kPerDay).value_or(0) > 0) free_day(hold);
  }

  /// Gives the pieces of all orders of this call back.
  void give_back_pieces() {
    if (pieces_ == 0) return;
    const std::string_view voucher = call_.key(Keys::kVoucher);
    if (restocks_) {
      call_.increment_by(call_.key(Keys::kStock), pieces_);
      if (field(kTotal).value_or(0) > 0) call_.hash_increment_by(voucher, "admitted", -pieces_);
    }
    if (restocks_ && !restores_allowance_) call_.hash_increment_by(voucher, "given_back", pieces_);
    if (restores_allowance_ && !restocks_) call_.hash_increment_by(voucher, "withheld", pieces_);
  }

  void free_day(const Hold& hold) {
    const std::string_view days = call_.key(Keys::kDays);
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
  HeldOrders held_;
  std::array<std::optional<std::int64_t>, kFieldCount> fields_{};
  bool is_closed_ = false;
  bool restocks_ = false;
  bool restores_allowance_ = false;
  std::int64_t pieces_ = 0;  // of the holds that this call ended
};

Reply run_cancel(NativeCall& call) {
  if (call.key_count() != Cancellation::Keys::kCount ||
      call.argument_count() <= Cancellation::kFirstOrder) {
    throw ScriptError("ERR cancelling needs nine keys, and four arguments before the first order");
  }
  return Cancellation(call).run();
}

/// Finds holds that are due.
class DueSearch {
 public:
  explicit DueSearch(NativeCall& call) : call_(call), held_(call, call.key(kHeld)) {}

  Reply run() {
    auto skip = static_cast<std::size_t>(parse_int64(call_.argument(kSkip)).value_or(0));
    const auto enough = static_cast<std::size_t>(parse_int64(call_.argument(kEnough)).value_or(0));
    constexpr std::size_t kOrdersMax = 4'096;  // so many are looked up
    std::vector<Reply> found(kFirstDeadline);
    std::size_t count = 0;
    bool is_left = read(skip);
    while (is_left && count < enough && looked_up_ < kOrdersMax && deadline_ms_ <= now_ms()) {
      std::vector<Reply> held = find_held();
      if (held.empty()) {
        call_.sorted_set_remove(call_.key(kDeadlines), member_);
      } else {
        count += held.size() - 1;
        ++skip;
        found.push_back(Reply::array(std::move(held)));
      }
      is_left = read(skip);
    }
    found[0] = Reply::bulk(concat(now_ms()));
    found[1] = Reply::bulk(is_left ? concat(deadline_ms_) : "");
    return Reply::array(std::move(found));
  }

  enum Key : std::size_t { kDeadlines, kHeld, kKeys };
  enum Argument : std::size_t { kSkip, kEnough, kArguments };

 private:
  static constexpr std::size_t kFirstDeadline = 2;

  /// Reads the deadline of this rank. Returns false if there is none.
  bool read(std::size_t rank) {
    return call_.sorted_set_at(call_.key(kDeadlines), rank,
                               [this](std::string_view member, double score) {
                                 member_ = member;
                                 deadline_ms_ = static_cast<std::int64_t>(score);
                               });
  }

  /// Returns the voucher and the orders that are held; nothing if all have ended.
  std::vector<Reply> find_held() {
    std::vector<Reply> held;
    for (std::string_view rest = member_; !rest.empty();) {
      const auto [name, digits] = DeadlineBlock::take(rest);
      for (const char digit : digits) {
        const std::string order = concat(name, std::string_view(&digit, 1));
        ++looked_up_;
        held_.select(order);
        const Hold hold(held_.find(order));
        if (!hold.is_open()) continue;
        if (held.empty()) held.push_back(Reply::bulk(hold.voucher()));
        held.push_back(Reply::bulk(order));
      }
    }
    return held;
  }

  [[nodiscard]] std::int64_t now_ms() const { return call_.now_ms(); }

  NativeCall& call_;
  HeldOrders held_;
  std::string member_;
  std::int64_t deadline_ms_ = 0;
  std::size_t looked_up_ = 0;
};

Reply run_find_due(NativeCall& call) {
  if (call.key_count() != DueSearch::kKeys || call.argument_count() != DueSearch::kArguments) {
    throw ScriptError("ERR looking for holds that are due needs two keys and two arguments");
  }
  return DueSearch(call).run();
}

Reply run_remove_held(NativeCall& call) {
  if (call.key_count() != 1) throw ScriptError("ERR removing held orders needs one key");
  HeldOrders held(call, call.key(0));
  std::int64_t removed = 0;
  for (std::size_t i = 0; i < call.argument_count(); ++i) {
    const std::string_view order = call.argument(i);
    held.select(order);
    if (held.find(order).empty()) continue;
    held.set(order, "");
    ++removed;
  }
  held.write();
  return Reply::integer(removed);
}

}  // namespace

std::vector<NamedScript> native() {
  return {{std::string(kNativePay), run_pay},
          {std::string(kNativeCancel), run_cancel},
          {std::string(kNativeFindDue), run_find_due},
          {std::string(kNativeRemoveHeld), run_remove_held}};
}

}  // namespace rushgate::payment_scripts
