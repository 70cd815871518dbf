// The scripts that bring a voucher into the keyspace, and bring it back when it was lost. What each
// answers is said here; their text is in voucher_scripts.cc.
#pragma once

#include "engine/client/script.h"

namespace rushgate::voucher_scripts {

/// The first element of each answer.
enum Outcome : int {
  kDone = 0,
  kRefused = 1,         // the new stock is below what is sold; {1, by how many}
  kAlreadyDone = 2,     // this version, or a later one, is in force; {2, its terms}
  kMissing = 3,         // the voucher's stock, or all of it, is not there: rebuild
  kRebuilding = 4,      // admission is closed by a rebuild
  kLostTheRebuild = 5,  // somebody else began another rebuild
  kTooManyBuyers = 6,   // to be converted; {6, how many}
};

/// Puts version v of a voucher in force, if it is newer than what is: the stock grows or shrinks by
/// the difference of what was published. KEYS voucher, stock, buyers, vouchers. ARGV its terms
/// (version, published, begin, end, total, per_user, per_day, offset), may be created (1/0), how
/// many buyers may be converted to a hash of counts, its id.
const Script& apply();

/// A rebuild: begin() closes admission, load() adds buyers, finish() puts the terms in force and
/// opens it. `token` tells one rebuild from another; the last to begin wins. KEYS voucher, stock,
/// buyers, days. ARGV token ("<rebuilder>:…", who does one at a time), the keyspace's run or "",
/// age in ms, by the keyspace's time, at which another's rebuild counts as abandoned; one that
/// belongs to the same rebuilder or to another run is dead at once. {0}, {2} if nothing is missing,
/// or {4}.
const Script& begin_rebuild();
/// KEYS voucher, buyers, days. ARGV token, counted (1/0), then user, count, "<day>:<count>" or ""
/// for each buyer. {0} or {5}.
const Script& load_buyers();
/// KEYS voucher, stock, vouchers. ARGV token, free, admitted, counted, version, published, begin,
/// end, total, per_user, per_day, offset, its id. {0} or {5}.
const Script& finish_rebuild();

}  // namespace rushgate::voucher_scripts
