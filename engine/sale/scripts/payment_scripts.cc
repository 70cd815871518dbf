#include "engine/sale/scripts/payment_scripts.h"

#include <string>

#include "engine/core/base/concat.h"
#include "engine/sale/scripts/cancel.lua.h"
#include "engine/sale/scripts/find_due.lua.h"
#include "engine/sale/scripts/give_back_refund.lua.h"
#include "engine/sale/scripts/held_orders.h"
#include "engine/sale/scripts/hold_append_event.lua.h"
#include "engine/sale/scripts/hold_correct.lua.h"
#include "engine/sale/scripts/pay.lua.h"
#include "engine/sale/scripts/payment_append.lua.h"
#include "engine/sale/scripts/payment_forget.lua.h"
#include "engine/sale/scripts/payment_note_stored.lua.h"
#include "engine/sale/scripts/payment_record_surplus.lua.h"
#include "engine/sale/scripts/remove_ended.lua.h"
#include "engine/sale/scripts/remove_held.lua.h"
#include "engine/sale/scripts/serve_waiting.lua.h"
#include "engine/sale/scripts/wait.lua.h"
#include "engine/sale/scripts/waiting_leave.lua.h"
#include "engine/sale/scripts/waiting_look.lua.h"

namespace rushgate::payment_scripts {

lua::VoucherKeys keys_of(const SaleKeys& keys, VoucherId voucher) {
  return {.voucher = keys.voucher(voucher),
          .stock = keys.stock(voucher),
          .buyers = keys.buyers(voucher),
          .days = keys.days(voucher),
          .deadlines = keys.deadlines(),
          .held = keys.held(),
          .stream = keys.order_stream,
          .waiting = keys.waiting(voucher),
          .orders = keys.waiting_orders(voucher)};
}

const Script& pay() {
  static const Script* const kScript = new Script(lua::kPay, std::string(kNativePay));
  return *kScript;
}

const Script& record_surplus() {
  static const Script* const kScript = new Script(lua::kPaymentRecordSurplus);
  return *kScript;
}

const Script& note_stored() {
  static const Script* const kScript = new Script(lua::kPaymentNoteStored);
  return *kScript;
}

const Script& cancel() {
  static const Script* const kScript = new Script(lua::kCancel, std::string(kNativeCancel));
  return *kScript;
}

const Script& cancel_serving() {
  static const Script* const kScript = new Script(lua::kCancel);
  return *kScript;
}

const Script& find_due() {
  static const Script* const kScript = new Script(lua::kFindDue, std::string(kNativeFindDue));
  return *kScript;
}

const Script& remove_held() {
  static const Script* const kScript = new Script(lua::kRemoveHeld, std::string(kNativeRemoveHeld));
  return *kScript;
}

const Script& remove_ended() {
  static const Script* const kScript = new Script(lua::kRemoveEnded);
  return *kScript;
}

const Script& give_back() {
  static const Script* const kScript = new Script(lua::kGiveBackRefund);
  return *kScript;
}

const Script& serve_waiting() {
  static const Script* const kScript = new Script(lua::kServeWaiting);
  return *kScript;
}

const Script& wait() {
  static const Script* const kScript = new Script(lua::kWait);
  return *kScript;
}

const Script& look_at_waiting_list() {
  static const Script* const kScript = new Script(lua::kWaitingLook);
  return *kScript;
}

const Script& append_event() {
  static const Script* const kScript = new Script(lua::kHoldAppendEvent);
  return *kScript;
}

const Script& correct_hold() {
  static const Script* const kScript = new Script(lua::kHoldCorrect);
  return *kScript;
}

const Script& append_payment() {
  static const Script* const kScript = new Script(lua::kPaymentAppend);
  return *kScript;
}

const Script& forget_payment() {
  static const Script* const kScript = new Script(lua::kPaymentForget);
  return *kScript;
}

const Script& leave() {
  static const Script* const kScript = new Script(lua::kWaitingLeave);
  return *kScript;
}

}  // namespace rushgate::payment_scripts
