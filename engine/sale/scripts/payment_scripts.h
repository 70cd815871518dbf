// The scripts that end the hold of an unpaid order, and give pieces back. The Lua is in
// engine/sale/scripts.
//
// An order is unpaid while SaleKeys::held() has its hold. The script that replaces the hold by its end
// wins. It also appends the event to the order stream, from which a worker applies it to the database.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/sale/scripts/payment_codes.lua.h"
#include "engine/sale/scripts/voucher_keys.lua.h"
#include "engine/sale/scripts/waiting_codes.lua.h"
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>
#include <rushgate/script.h>

namespace rushgate::payment_scripts {

/// The first element of each reply.
using namespace lua::payment_codes;

/// Returns the keys of a voucher and of all orders.
lua::VoucherKeys keys_of(const SaleKeys& keys, VoucherId voucher);

/// Ends holds by payments. Checks the payment ids against SaleKeys::payments().
///
/// KEYS held, payments, order stream, orders of the dead letters. ARGV order, payment, amount, of each
/// payment. Returns a reply for each, in their order. {6} has the voucher too. A failure of one of
/// them, such as a key of a wrong type, is its reply alone.
const Script& pay();

/// Records a payment that pays nothing: its order is paid or has ended.
///
/// KEYS payments, order stream, owner of the stream. ARGV order, voucher, user, payment, amount,
/// reason. Returns {0}, {1, …}, {2, …}, or {6} if the keyspace has no owner: it lost its writes, and
/// an entry would make the stream look like another system's. Or the sale was moved away.
const Script& record_surplus();

/// Notes the payments of a batch that is stored now, and forgets batches that were stored long ago. A
/// payment is known to the keyspace for a while after it was stored: pay() looks into the database
/// first, and the payment may be stored just after that. If memory is short, the batch is forgotten
/// at once.
///
/// KEYS payments, stored payments. ARGV payment ids separated by spaces or "", how long to keep them
/// (ms), the most batches to forget. Returns the number of batches that it forgot.
const Script& note_stored();
/// How long a stored payment is kept, and the most payments of a batch.
inline constexpr std::int64_t kKeepStoredMs = 60'000;
inline constexpr std::size_t kStoredBatchMax = 1'000;

/// Ends the holds of orders of one voucher, and gives their pieces back as the voucher's terms say.
/// Sells them to waiting users.
///
/// KEYS keys_of(). ARGV voucher, only due orders (1/0), reason, actor, orders.
/// Returns a reply for each order, in their order: {0}, {4, …}, {5}, {6} or {7}. {0, 1} instead of {0}
/// says that more waiting users may be served than one script may serve (256): call
/// serve_waiting().
///
/// The native implementation serves no waiting users: if the voucher may have some, it does nothing
/// and returns {8}.
const Script& cancel();
/// The same without a native implementation.
const Script& cancel_serving();

/// Finds holds that are due, and removes deadlines whose holds have all ended.
///
/// KEYS deadlines, held. ARGV the number of deadlines to skip, how many holds are enough.
/// Returns {the keyspace's time (ms), the next deadline after them or "", {voucher, order, …}, …},
/// with an array for each deadline.
const Script& find_due();

/// Removes orders from SaleKeys::held().
///
/// KEYS held. ARGV orders. Returns how many there were.
const Script& remove_held();

/// Removes deadlines whose holds have all ended, before they are due.
///
/// KEYS deadlines, held. ARGV the first deadline's rank, the most of them. Returns {how many it looked
/// at, how many it removed}.
const Script& remove_ended();

/// Gives the pieces of a refunded order back, once under this order's id. A rebuild forgets the ids.
/// It counts the orders as the database has them in its epoch, so a caller that read the order in an
/// earlier epoch must read it again.
///
/// KEYS keys_of(), then the refunds. ARGV order, user, quantity, admitted at (ms), voucher, the
/// database's epoch before the order was read.
/// Returns {0, keeps_of() of the order, 1 if more users may be served as by cancel()}, {6} or {9, …}.
const Script& give_back();

/// Sells free pieces to users that wait for them, in the order of their arrival.
///
/// KEYS keys_of(). ARGV voucher, the most users. Returns the number of users served or dropped.
const Script& serve_waiting();

/// The first element of the reply of wait().
using namespace lua::waiting_codes;
/// Adds a user to the waiting list.
///
/// KEYS keys_of(). ARGV voucher, user, the order that the user will get.
const Script& wait();

/// Looks at the waiting list at one moment.
///
/// KEYS keys_of(). Returns {users, 1 if a waiting user could be served, the version in force or
/// 0 if the voucher is closed or lost}.
const Script& look_at_waiting_list();

/// Appends the event of a hold that ended, if the hold still counts as ended in this way and the
/// event was lost.
///
/// KEYS held, order stream. ARGV order, its end in SaleKeys::held(), fields and values of the
/// event. Returns 1 if it appended the event, else 0.
const Script& append_event();

/// Corrects the hold of an unpaid order, and sets its deadline, if the hold is as it was read and no
/// rebuild checks it.
///
/// KEYS held, deadlines. ARGV order, its hold as it was read, its right hold, its deadline (ms).
/// Returns 1 if it did that, else 0.
const Script& correct_hold();

/// Appends the event of a payment that was acknowledged and lost, if SaleKeys::payments() has it as it
/// was read. Ends the hold of its order, if the payment pays it.
///
/// KEYS held, payments, order stream. ARGV payment, its value in SaleKeys::payments(), order, voucher,
/// user, kind, amount. Returns 1 if it appended the event, else 0.
const Script& append_payment();

/// Removes a payment from SaleKeys::payments(), if that has it as it was read.
///
/// KEYS payments. ARGV payment, its value. Returns 1 if it removed it, else 0.
const Script& forget_payment();

/// Removes a user from the waiting list. Returns 1 if the user waited, else 0.
///
/// KEYS waiting, their orders. ARGV user.
const Script& leave();

/// Returns the native implementations of pay(), cancel(), find_due() and remove_held().
std::vector<NamedScript> native();
inline constexpr std::string_view kNativePay = "rushgate.pay";
inline constexpr std::string_view kNativeCancel = "rushgate.cancel";
inline constexpr std::string_view kNativeFindDue = "rushgate.find_due";
inline constexpr std::string_view kNativeRemoveHeld = "rushgate.remove_held";

}  // namespace rushgate::payment_scripts
