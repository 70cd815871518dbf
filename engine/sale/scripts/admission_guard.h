// The sale's part around a custom admission script: one script that runs both.
#pragma once

#include <string>

#include <rushgate/purchase.h>

namespace rushgate {

/// Returns the Lua source of a script that keeps the sale's rules around `admission`, which is
/// checked.
///
/// KEYS  1 voucher  2 stock  3 buyers  4 order stream  [5 request]  then those of the script
/// ARGV  1 "1" with a request, else "0"  2 voucher  3 user  4 order
///       5 how long an acceptance is kept for its request (ms)      then those of the script
///
/// The script returns the code of `admission`. Where that did not run, it returns {an
/// AdmissionCode}, or {0, order} for a request that was accepted before. Raises an error if the
/// keys contradict the code. Line numbers in messages are those of `admission`.
std::string guarded_admission(const CustomAdmission& admission);

}  // namespace rushgate
