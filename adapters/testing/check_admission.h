// Checks an admission script of your own before a Sale runs it.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "engine/sale/admission/custom_admission.h"
#include "engine/sale/sale_keys.h"
#include <rushgate/client.h>

namespace rushgate::testing {

struct AdmissionCheckOptions {
  std::uint64_t seed = 1;   // of the crowd
  std::int64_t stock = 10;  // 1 to 1,000
  SaleKeys keys = {};       // of the sale that will use the script
  /// Creates the script's own keys. Runs on each engine before the voucher is published.
  std::function<void(Client&)> prepare = {};
  /// False: the script's own rules refuse some users, which are numbered from 1.
  bool find_withheld = true;
};

/// The faults of a script. Use: EXPECT_TRUE(report.passed()) << report.
struct AdmissionReport {
  std::vector<std::string> faults = {};  // the first few, without repetition

  [[nodiscard]] bool passed() const { return faults.empty(); }
};

std::ostream& operator<<(std::ostream& out, const AdmissionReport& report);

/// Runs the script on engines in memory, with one user per request, and looks for faults:
/// - The declaration is invalid, or the source is not Lua.
/// - A reply is not one of the codes, or an error.
/// - The script's writes contradict its code, or change a key that is not declared, or it writes
///   the voucher's terms.
/// - A crowd was sold more than there was, was sold twice, or lost an order; or stock was withheld
///   (run_rush.h).
/// - The same requests on two engines that differ only in their seeds had different results: the
///   script draws at random, or depends on the order of a set.
/// - A sale with the script, whose voucher is lost and rebuilt half-way, fails its audit.
/// With CustomAdmission::counts_buyers all that is repeated with limits of 2 and of none per user.
///
/// Keys that are only read may be undeclared: the check does not see them. Throws
/// std::invalid_argument if an option is out of its range.
AdmissionReport check_admission(const CustomAdmission& admission,
                                const AdmissionCheckOptions& options = {});

}  // namespace rushgate::testing
