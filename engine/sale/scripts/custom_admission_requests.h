// The requests and replies of a custom admission script.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "engine/sale/scripts/admission.h"
#include "engine/sale/scripts/word_template.h"
#include <rushgate/client.h>
#include <rushgate/purchase.h>
#include <rushgate/sale_keys.h>
#include <rushgate/script.h>

namespace rushgate {

/// Thread-safe. Does not own the client, which must outlive it.
class CustomAdmissionRequests {
 public:
  /// `admission` must be checked. The acceptance of a request with an idempotency key is kept for
  /// `request_ttl_ms`.
  CustomAdmissionRequests(Client& client, const SaleKeys& keys, CustomAdmission admission,
                          std::int64_t request_ttl_ms);

  /// Loads the script. kInvalidArgument, with the compiler's message: it is not valid Lua.
  absl::Status load();

  /// Returns the script with the sale's part around it (admission_guard.h).
  [[nodiscard]] const Script& script() const { return script_; }
  /// Makes a request for Client::run() and run_all() with script().
  [[nodiscard]] Request make(VoucherId voucher, const AdmissionRequests::Buyer& buyer) const;

  /// Reads the reply of the sale's own part, where the custom script did not run.
  [[nodiscard]] static std::optional<AdmissionReply> read_own(const Reply& reply, OrderId order);
  /// Reads the result of a request for `order` where the custom script ran or raised an error.
  [[nodiscard]] std::optional<BuyResult> read_custom(const Reply& reply, OrderId order) const;

  /// Returns why the script cannot sell this voucher; OK if it can.
  [[nodiscard]] absl::Status check(const Voucher& voucher) const;

 private:
  Client& client_;
  const SaleKeys keys_;
  const CustomAdmission admission_;
  const std::int64_t request_ttl_ms_;
  const Script script_;
  const std::vector<WordTemplate> key_words_;
  const std::vector<WordTemplate> argument_words_;
};

}  // namespace rushgate
