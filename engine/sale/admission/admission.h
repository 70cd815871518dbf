// Who gets one: the decision, made by one atomic script, in Lua and as its native twin.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/numbers.h"
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

/// One run of the script.
class AdmissionCall {
 public:
  /// `request_key` may be empty; if not, it names one request of this user for this voucher.
  /// Answers are kept for `request_ttl_ms`.
  AdmissionCall(const SaleKeys& keys, VoucherId voucher, UserId user, OrderId order,
                std::string_view request_key, std::int64_t request_ttl_ms);
  AdmissionCall(const AdmissionCall&) = delete;
  AdmissionCall& operator=(const AdmissionCall&) = delete;

  /// For Client::run_all().
  [[nodiscard]] Request request(const Client& client) const;
  Reply run(Client& client) const;

  struct Answer {
    AdmissionCode code;
    OrderId order;  // of an accepted request: that of its first answer, if it is a repetition
  };
  /// Nothing if the reply is not the script's.
  static std::optional<Answer> read(const Reply& reply, OrderId order);

 private:
  [[nodiscard]] std::span<const std::string_view> keys() const;

  static constexpr std::size_t kKeys = 6;  // the last is the request's, and may be left out
  const std::array<std::string, kKeys> names_;
  const DecimalText user_;
  const DecimalText voucher_;
  const DecimalText order_;
  const DecimalText ttl_;
  std::array<std::string_view, kKeys> keys_;   // of names_
  std::array<std::string_view, 4> arguments_;  // of the numbers
};

}  // namespace rushgate
