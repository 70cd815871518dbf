// Who gets one: the decision, made by one atomic script, in Lua and as its native twin.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/client/client.h"
#include "engine/client/native_script.h"
#include "engine/sale/sale_keys.h"
#include "engine/sale/vouchers/voucher.h"

namespace rushgate {

/// What the admission script answers. The first three are those of the systems that Rushgate's
/// users come from.
enum class AdmissionCode : std::uint8_t {
  kAccepted = 0,
  kSoldOut = 1,
  kLimitReached = 2,     // this user's, over the whole sale
  kDayLimitReached = 3,  // this user's, today
  kNotStarted = 4,
  kEnded = 5,
  kUnknownVoucher = 6,  // the keyspace knows nothing of it
  kKeyReused = 7,       // the request key came with another user or voucher before
  kStockMissing = 8,    // the voucher is known, its stock is lost: it has to be rebuilt
  kRebuilding = 9,      // admission is closed meanwhile
};

/// admission.lua's text, and the name of its native twin.
const Script& admission_script();
NativeScript native_admission();
inline constexpr std::string_view kNativeAdmission = "rushgate.admission";

/// Makes the requests that run the script. What all requests for a voucher share is made once.
/// Thread-safe. Does not own the client, which must outlive it.
class AdmissionRequests {
 public:
  /// The acceptance of a request with a request key is kept for `request_ttl_ms`.
  AdmissionRequests(const Client& client, const SaleKeys& keys, std::int64_t request_ttl_ms);
  ~AdmissionRequests();
  AdmissionRequests(const AdmissionRequests&) = delete;
  AdmissionRequests& operator=(const AdmissionRequests&) = delete;

  /// One user's part of a request.
  struct Buyer {
    UserId user;
    OrderId order;                 // the id of the order to be
    std::string_view request_key;  // may be empty; if not, it names one request of this user for
                                   // this voucher
  };
  /// Users for whom one request may ask: more would hold up others for too long.
  static constexpr std::size_t kBuyersMax = 256;

  /// For Client::run_all(): asks for `buyers`, who are one to kBuyersMax, and of whom all or none
  /// have a request key. They are decided on in this order.
  [[nodiscard]] Request make(VoucherId voucher, std::span<const Buyer> buyers) const;

 private:
  struct Known {
    VoucherId voucher;
    Request beginning;  // up to the user, without a request key
  };
  static constexpr std::size_t kKnown = 256;

  [[nodiscard]] const Known* find_known(VoucherId voucher) const;
  [[nodiscard]] Request beginning(VoucherId voucher, std::span<const std::string> requests) const;

  const Client& client_;
  const SaleKeys keys_;
  const std::int64_t request_ttl_ms_;
  // By voucher, modulo; never replaced. One whose place is taken is made anew each time.
  mutable std::array<std::atomic<const Known*>, kKnown> known_{};
};

/// What the script answered.
struct AdmissionAnswer {
  AdmissionCode code;
  OrderId order;  // of an accepted request: that of its first answer, if it is a repetition
  bool is_repetition = false;  // of a request with the same request key

  /// From the answer for one buyer; nothing if it is not the script's. `order` is the one asked
  /// for.
  static std::optional<AdmissionAnswer> read(const Reply& reply, OrderId order);
};

}  // namespace rushgate
