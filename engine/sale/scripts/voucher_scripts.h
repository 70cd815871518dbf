// The scripts that put a voucher into the keyspace, and rebuild it after a loss. The Lua is in
// engine/sale/scripts.
#pragma once

#include "engine/sale/scripts/voucher_codes.lua.h"
#include <rushgate/script.h>

namespace rushgate::voucher_scripts {

/// The first element of each reply.
using namespace lua::voucher_codes;

/// Puts a version of a voucher in force, if it is newer than the present one. The stock changes by
/// the difference of the published stocks.
///
/// KEYS voucher, stock, buyers, vouchers, owner of the stream, waiting, lost requests, applied versions.
/// ARGV may be created (1/0), the most buyers to convert to a hash of counts, its id, the database's
/// identity, adopt (1/0: another system's stock and buyers become the voucher's), its title, then field
/// and value of each of the terms (append_terms()).
const Script& apply();

/// Begins a rebuild, which closes admission. load_buyers() then adds buyers. finish_rebuild() puts
/// the terms in force and opens admission. `token` identifies the rebuild; the last one to begin
/// wins.
///
/// KEYS voucher, stock, buyers, days, owner of the stream, held, refunds, lost requests.
/// ARGV token ("<rebuilder>:…"; a rebuilder does one at a time), the keyspace's run or "", the age
/// in ms after which an unrenewed claim is abandoned (by the keyspace's time), the database's
/// identity, force (1/0: also if nothing is missing), the voucher's id.
///
/// A claim of the same rebuilder or of another run is abandoned at once. Returns {0}, {2} if
/// nothing is missing, {4}, {7}, {8} or {11}.
const Script& begin_rebuild();
/// Renews the claim, and adds buyers; without buyers, only renews. Returns {0} or {5}.
///
/// KEYS voucher, buyers, days.
/// ARGV token, counted (1/0), then user, count, "<day>:<count>" or "" for each buyer.
const Script& load_buyers();
/// Restores accepted requests under their idempotency keys. Returns {0} or {5}.
///
/// KEYS voucher, then the key of each request. ARGV token, the voucher's id, then request_record()
/// and the last millisecond of each.
const Script& load_requests();
/// Restores accepted requests of any vouchers under their idempotency keys. A key that has a record
/// keeps it. Returns {0}, or {5} if they were lost once more, or are restored.
///
/// KEYS lost requests, then the key of each request. ARGV the loss, a name of the caller's own, then
/// request_record() and the last millisecond of each.
const Script& restore_requests();
/// Ends the restoring of all requests. Returns {0}, or {5} if the keyspace lost some of the caller's
/// portions, or somebody else has ended it.
///
/// KEYS lost requests. ARGV the loss, the caller's name, the number of its portions.
const Script& finish_requests();
/// Writes holds of unpaid orders, and ends of holds, which have an empty deadline. Removes a hold whose
/// description is empty, too. Returns {0} or {5}.
///
/// KEYS voucher, deadlines, held. ARGV token, then order, deadline (ms) and describe_hold() or
/// describe_end() for each.
const Script& load_holds();
/// Ends a rebuild. Returns {0} or {5}.
///
/// KEYS voucher, stock, vouchers, buyers, held, waiting, owner of the stream. ARGV token, free, taken,
/// counted, its id, the number of buyers, given back, withheld (give_back.lua), the database's epoch
/// before the orders were read, read_caught_up() then, then field and value of each of the terms
/// (append_terms()).
const Script& finish_rebuild();
/// Gives a rebuild up, and leaves no key of the voucher. Returns {0} or {5}.
///
/// KEYS voucher, held. ARGV token, its id.
const Script& abandon_rebuild();
/// Gives the claim of a rebuild back: the voucher stays closed, and the next one may begin at once. Returns {0}
/// or {5}.
///
/// KEYS voucher. ARGV token.
const Script& give_back_rebuild();
const Script& append_lost();
/// Takes free pieces out of a lane of the voucher, for another one. Returns {0, their number}, {3} or {4}.
///
/// KEYS payment_scripts::keys_of(). ARGV the other lane, the most pieces, the voucher's id.
const Script& take_pieces();
/// Puts pieces into a lane of the voucher that another one gave, as far as they are not there yet, and sells them
/// to users that wait there. Returns {0, their number}, {3} or {4}.
///
/// KEYS payment_scripts::keys_of(). ARGV the other lane, the pieces that it gave in all, the voucher's id.
const Script& put_pieces();

}  // namespace rushgate::voucher_scripts
