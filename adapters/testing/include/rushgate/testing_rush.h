// Runs a simulated rush against a sale of yours, and detects overselling, doubled orders and lost
// orders. check_admission() checks an admission script of your own before a Sale runs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include <rushgate/client.h>
#include <rushgate/reply.h>
#include <rushgate/request.h>
#include <rushgate/sale.h>
#include <rushgate/sale_keys.h>
#include <rushgate/test_engine.h>

namespace rushgate::testing {

// ---- The requests ----

/// A voucher in a rush.
struct RushVoucher {
  std::int64_t id = 1;
  std::int64_t stock = 10;
  std::int64_t per_user = 1;  // orders per user; 0: unlimited
  std::int64_t share = 1;     // of the requests, relative to the shares of other vouchers

  /// The voucher's sale begins this long after the rush has begun; less than RushOptions::span_ms.
  /// One in five of its requests is too early.
  std::int64_t begin_ms = 0;

  friend bool operator==(const RushVoucher&, const RushVoucher&) = default;
};

/// A random rush from a seed: the requests, their users, vouchers and times.
struct RushOptions {
  std::uint64_t seed = 1;
  std::int64_t span_ms = 1'000;  // length of the rush; requests become fewer and fewer

  std::int64_t buyers = 200;        // users 1 to `buyers`, each at least once
  std::size_t requests = 1'000;     // in total; those beyond buyers and robots are repeats
  std::int64_t robots = 2;          // users 1 to `robots` repeat requests for one voucher
  std::size_t robot_requests = 50;  // per robot, in addition to its requests as a buyer
  std::int64_t robot_gap_ms = 2;

  std::vector<RushVoucher> vouchers = {{}};
};

struct RushRequest {
  std::size_t number = 0;  // in the rush, from 0; identifies the request
  std::int64_t at_ms = 0;  // since the start of the rush; after a restock, span_ms and later
  std::int64_t user = 0;
  std::int64_t voucher = 0;

  friend bool operator==(const RushRequest&, const RushRequest&) = default;
};

/// Returns the requests in order of at_ms. Equal options give equal requests on every machine.
/// Throws std::invalid_argument if the options are invalid, contradict each other, or ask for more
/// than 100 million requests, 24 days or 10^12 vouchers.
std::vector<RushRequest> make_rush(const RushOptions& options);
/// Throws the same exceptions as make_rush().
void check_rush(const RushOptions& options);

// ---- The sale ----

/// kFailed: neither accepted nor refused, for example a script's error. It fails the test.
enum class RushResult : std::uint8_t { kAccepted, kRefused, kFailed };

/// Returns "accepted", "refused" or "failed".
std::string_view rush_result_name(RushResult result);

/// The user and voucher of one order.
struct RushOrder {
  std::int64_t user = 0;
  std::int64_t voucher = 0;

  friend bool operator==(const RushOrder&, const RushOrder&) = default;
  friend bool operator<(const RushOrder& a, const RushOrder& b) {
    return std::tie(a.user, a.voucher) < std::tie(b.user, b.voucher);
  }
};

/// The next step of a request: a command to send, or the final result.
using RushStep = std::variant<Request, RushResult>;

/// Describes a sale: your script, its requests, what its replies mean, and where its orders are.
struct SaleUnderTest {
  /// Puts everything on sale. May be empty.
  std::function<void(Client&)> prepare = {};

  /// Returns the next step of a request, given the replies to its commands so far (none at first).
  /// For a sale with one script, use by_script(). A sale with several commands returns them one by
  /// one. Commands of other buyers may run in between.
  std::function<RushStep(const RushRequest&, std::span<const Reply>)> buy = {};

  /// Returns all orders. Called after the rush, and before a restock. If it is empty, only replies
  /// are checked, and lost orders are not detected.
  std::function<absl::StatusOr<std::vector<RushOrder>>(Client&)> orders = {};

  /// Returns the users that the sale has recorded as buyers, each as often as it is recorded.
  /// Called after the rush, before RushConditions::drain_ms. If it is empty, buyers are not
  /// compared with orders.
  std::function<absl::StatusOr<std::vector<RushOrder>>(Client&)> buyers = {};

  /// Adds pieces to the stock of a voucher that is on sale. If it is empty, there is no restock.
  std::function<void(Client&, std::int64_t voucher, std::int64_t pieces)> restock = {};
};

struct ScriptArguments {
  std::vector<std::string> keys;       // KEYS
  std::vector<std::string> arguments;  // ARGV
};

/// Returns a function that sends an EVAL of `text` for each request. Throws std::invalid_argument
/// if one of the functions is empty.
std::function<RushStep(const RushRequest&, std::span<const Reply>)> by_script(
    std::string text, std::function<ScriptArguments(const RushRequest&)> arguments,
    std::function<RushResult(const Reply&)> read);

/// Returns a function that reads a reply equal to `yes` as accepted, an error as failed, and any
/// other as refused.
std::function<RushResult(const Reply&)> accepted_if(Reply yes);

/// Returns a function that reads a stream. Each entry is an order, with user and voucher in fields
/// of these names. An entry without them is an error.
std::function<absl::StatusOr<std::vector<RushOrder>>(Client&)> orders_in_stream(
    std::string key, std::string user_field, std::string voucher_field);

/// Returns a function that reads one set per voucher, of orders or of buyers. Its key is `prefix`
/// and the voucher's id. Its members are users.
std::function<absl::StatusOr<std::vector<RushOrder>>(Client&)> orders_in_sets(
    std::string prefix, std::vector<std::int64_t> vouchers);

/// Returns a function that reads one hash per voucher, of orders or of buyers. Its key is `prefix`
/// and the voucher's id. Its fields are users, with the number of their orders, at most 1,000,000.
std::function<absl::StatusOr<std::vector<RushOrder>>(Client&)> orders_in_hashes(
    std::string prefix, std::vector<std::int64_t> vouchers);

// ---- The report ----

/// The result of a rush. Use: EXPECT_TRUE(report.passed()) << report. Equal runs give equal
/// reports.
struct RushReport {
  /// A voucher that was oversold, or undersold without a reason.
  struct VoucherFault {
    std::int64_t voucher = 0;
    std::int64_t stock = 0;
    std::int64_t accepted = 0;
    std::int64_t orders = 0;
    friend bool operator==(const VoucherFault&, const VoucherFault&) = default;
  };
  /// The numbers of a user's confirmed and stored orders of a voucher.
  struct UserFault {
    std::int64_t user = 0;
    std::int64_t voucher = 0;
    std::int64_t accepted = 0;
    std::int64_t orders = 0;
    std::int64_t in_doubt = 0;  // requests with lost replies: each may be an order
    std::int64_t recorded = 0;  // times that SaleUnderTest::buyers returned the user
    friend bool operator==(const UserFault&, const UserFault&) = default;
  };

  /// A reply to the last command of a request, and its interpretation.
  struct FrequentReply {
    std::string reply;
    RushResult result = RushResult::kRefused;
    std::size_t times = 0;
    friend bool operator==(const FrequentReply&, const FrequentReply&) = default;
  };

  std::uint64_t seed = 0;    // repeats the rush
  std::size_t requests = 0;  // including those after a restock
  std::size_t accepted = 0;
  std::size_t refused = 0;
  std::size_t failed = 0;        // RushResult::kFailed
  std::size_t replies_lost = 0;  // in crashes
  std::size_t crashes = 0;
  std::int64_t restocked = 0;               // pieces
  std::vector<FrequentReply> replies = {};  // the most frequent ones

  // ---- Faults: all empty in a sale that passes ----

  std::vector<VoucherFault> oversold = {};
  std::vector<UserFault> doubled = {};      // more than RushVoucher::per_user
  std::vector<UserFault> lost = {};         // accepted but not among the orders
  std::vector<UserFault> unfounded = {};    // orders without a confirmation
  std::vector<UserFault> blocked = {};      // recorded as buyers more often than they have orders
  std::vector<UserFault> unrecorded = {};   // recorded less often: may buy beyond their limit
  std::vector<UserFault> too_early = {};    // accepted before RushVoucher::begin_ms
  std::vector<VoucherFault> withheld = {};  // refused on sale although stock was left
  std::vector<std::string> errors = {};     // the first few, as the sale reported them

  [[nodiscard]] bool passed() const;
  /// Returns a description of the faults. The longest lists are shortened.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const RushReport&, const RushReport&) = default;
};

std::ostream& operator<<(std::ostream& out, const RushReport& report);

// ---- The run ----

/// Events of a rush other than requests. All random choices use the rush's seed.
struct RushConditions {
  /// The maximum of concurrent requests that are sent as one pipeline, in any order.
  std::size_t group_max = 8;
  /// The longest pause between a reply and the next command of the same request.
  std::int64_t pause_ms_max = 3;

  /// The number of crashes, all before a restock. One happens during a commit (its writes may
  /// survive or not) or between two requests. The rush continues with the reopened sale. Open
  /// requests lose their replies. Crashes come at commits, so a sale with few commits may have
  /// fewer.
  std::size_t crashes = 0;
  /// Repeats requests without a reply once, under the same RushRequest::number.
  bool ask_again = false;

  /// How far to advance the clock after the last reply, before the orders are read.
  std::int64_t drain_ms = 0;
  /// False: the sale has reasons of its own to refuse users, such as a limit per day.
  bool find_withheld = true;
  /// On a port: false if the server's clock cannot be moved, as on a redis-server. Requests then
  /// follow each other without pauses.
  bool move_clock = true;
};

/// Runs a rush on the test's engine. With SaleUnderTest::restock it has a second part: each voucher
/// that refused users who could have had it gets about half as many new pieces as there are such
/// users, but at most its stock. All of them ask again, once, within span_ms.
///
/// A second rush on the same engine needs a sale that ignores the orders of the first. Throws
/// std::invalid_argument if `rush` or `conditions` are invalid, or the sale has no
/// SaleUnderTest::buy.
RushReport run_rush(TestEngine& engine, const SaleUnderTest& sale, const RushOptions& rush = {},
                    const RushConditions& conditions = {});

/// Runs a rush over a port: `rushgate serve --manual-clock`, whose clock RUSHGATE.ADVANCE moves, or
/// a RespServer on an engine in manual mode. Crashes are impossible (std::invalid_argument if
/// requested). Equal options give the same report as on the test's engine.
RushReport run_rush(Client& port, const SaleUnderTest& sale, const RushOptions& rush = {},
                    const RushConditions& conditions = {});

// ---- An admission script of your own ----

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
///   (RushReport).
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
