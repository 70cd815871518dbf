// The scripts that bring a voucher into the keyspace, and bring it back when it was lost. What each
// answers is said here; their text is in voucher_scripts.cc.
#pragma once

#include "engine/client/script.h"

namespace rushgate::voucher_scripts {

/// The first element of each reply.
enum Outcome : int {
  kDone = 0,
  kRefused = 1,         // the new stock is below what is sold; {1, by how many}
  kAlreadyDone = 2,     // this version, or a later one, is in force; {2, its terms}
  kMissing = 3,         // the voucher's stock, or all of it, is missing: rebuild
  kRebuilding = 4,      // admission is closed by a rebuild
  kLostTheRebuild = 5,  // another rebuild began
  kTooManyBuyers = 6,   // to be converted; {6, how many}
  kAnothers = 7,        // the keyspace belongs to another database
  kUnclaimed = 8,       // it belongs to none: it lost all of its writes
  kNeedsDays = 9,       // the limit per day needs the days of those who have bought: rebuild
  kForeign = 10,        // another system made these keys; {10, free, admitted}
};

/// Puts version v of a voucher in force, if it is newer than the one that is: the stock grows or
/// shrinks by the difference of the published stocks. KEYS voucher, stock, buyers, vouchers, owner
/// of the stream. ARGV its terms (version, published, begin, end, total, per_user, per_day,
/// offset), may be created (1/0), how many buyers may be converted to a hash of counts, its id, the
/// database's identity, adopt (1/0: the stock and the buyers of another system become the
/// voucher's).
const Script& apply();

/// A rebuild: begin() closes admission, load() adds buyers, finish() puts the terms in force and
/// opens it. `token` tells one rebuild from another; the last to begin wins. KEYS voucher, stock,
/// buyers, days, owner of the stream. ARGV token ("<rebuilder>:…"; a rebuilder does one at a time),
/// the keyspace's run or "", the age in ms, by the keyspace's time, at which a claim that was not
/// renewed is abandoned, the database's identity, force (1/0: also if nothing is missing). A claim
/// of the same rebuilder or of another run is abandoned at once. {0}, {2} if nothing is missing,
/// {4}, {7} or {8}.
const Script& begin_rebuild();
/// Renews the claim, and adds buyers. KEYS voucher, buyers, days. ARGV token, counted (1/0), then
/// user, count, "<day>:<count>" or "" for each buyer; none renews alone. {0} or {5}.
const Script& load_buyers();
/// KEYS voucher, stock, vouchers. ARGV token, free, admitted, counted, version, published, begin,
/// end, total, per_user, per_day, offset, its id. {0} or {5}.
const Script& finish_rebuild();
const Script& append_lost();

}  // namespace rushgate::voucher_scripts
