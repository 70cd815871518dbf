// The admission script in C++: what admission_script.cc does, line by line.
#include <array>
#include <optional>
#include <string>

#include "engine/base/numbers.h"
#include "engine/sale/admission/admission.h"
#include "engine/sale/vouchers/sale_day.h"

namespace rushgate {
namespace {

enum Key : std::size_t { kVoucherKey, kStockKey, kBuyersKey, kDaysKey, kStreamKey, kRequestKey };
enum Argument : std::size_t { kVoucherId, kRequestTtl, kUser, kOrder };

enum Term : std::size_t {
  kBegin,
  kEnd,
  kTotal,
  kAdmitted,
  kCounted,
  kPerUser,
  kPerDay,
  kOffset,
  kTerms
};
constexpr std::array<std::string_view, kTerms> kTermFields = {
    "begin", "end", "total", "admitted", "counted", "per_user", "per_day", "offset"};

/// A voucher's hash, read once for as long as it stays the same.
struct Terms {
  NativeCall::Revision revision;
  bool is_closed = false;
  std::array<std::optional<std::int64_t>, kTerms> fields{};
};

/// The terms of the vouchers asked for last, by their hashes' ids.
class TermsCache {
 public:
  /// Those of the voucher at `key`, which is not empty. Valid until the next call.
  Terms& of(NativeCall& call, std::string_view key) {
    const NativeCall::Revision revision = call.hash_revision(key);
    Terms& terms = known_[revision.hash % kKnown];
    if (terms.revision == revision && revision.hash != 0) return terms;
    terms.revision = {};  // reading may throw half-way
    terms.is_closed = call.hash_get(key, "closed").has_value();
    call.hash_get_integers(key, kTermFields, terms.fields);
    terms.revision = revision;
    return terms;
  }

 private:
  static constexpr std::size_t kKnown = 64;
  std::array<Terms, kKnown> known_;
};

class Admission {
 public:
  Admission(NativeCall& call, TermsCache& cache)
      : call_(call), user_(call.argument(kUser)), cache_(cache) {}

  Reply run() {
    if (has_request()) {
      if (auto repeated = answer_before()) return *std::move(repeated);
    }
    const AdmissionCode code = decide();
    if (code == AdmissionCode::kAccepted) admit();
    return answer(code);
  }

 private:
  [[nodiscard]] bool has_request() const { return call_.key_count() > kRequestKey; }

  static Reply reply_of(AdmissionCode code) {
    return Reply::integer(static_cast<std::int64_t>(code));
  }

  /// What a request is known by: "<user> <voucher> ", before "<code> <order>".
  [[nodiscard]] std::string parameters() const {
    std::string text(user_);
    text += ' ';
    text += call_.argument(kVoucherId);
    return text += ' ';
  }

  /// The answer that this request got before, if it did.
  std::optional<Reply> answer_before() {
    const Reply known = call_.call(Request::of("GET", call_.key(kRequestKey)));
    if (known.is_error()) throw ScriptError(known.text());
    if (known.is_nil()) return std::nullopt;
    std::string_view text = known.text();
    const std::string expected = parameters();
    if (text.substr(0, expected.size()) != expected) return reply_of(AdmissionCode::kKeyReused);
    text.remove_prefix(expected.size());
    const auto space = text.find(' ');
    const auto code = parse_int64(text.substr(0, space));
    if (!code || space == text.npos) return reply_of(AdmissionCode::kKeyReused);
    return Reply::array({Reply::integer(*code), Reply::bulk(text.substr(space + 1))});
  }

  AdmissionCode decide() {
    terms_ = &cache_.of(call_, call_.key(kVoucherKey));
    if (terms_->is_closed) return AdmissionCode::kRebuilding;
    if (!terms_->fields[kBegin]) return AdmissionCode::kUnknownVoucher;
    if (call_.now_ms() < term(kBegin)) return AdmissionCode::kNotStarted;
    if (call_.now_ms() >= term(kEnd)) return AdmissionCode::kEnded;

    const auto stock = call_.get_integer(call_.key(kStockKey));
    if (!stock) return AdmissionCode::kStockMissing;
    if (*stock <= 0) return AdmissionCode::kSoldOut;
    if (term(kTotal) > 0 && term(kAdmitted) >= term(kTotal)) return AdmissionCode::kSoldOut;
    if (user_is_at_limit()) return AdmissionCode::kLimitReached;
    if (user_is_at_day_limit()) return AdmissionCode::kDayLimitReached;
    return AdmissionCode::kAccepted;
  }

  bool user_is_at_limit() {
    if (term(kCounted) == 0) {
      if (term(kPerDay) > 0) return call_.set_contains(call_.key(kBuyersKey), user_);
      // Nothing else can refuse him: making him a buyer tells whether he is one.
      is_buyer_ = true;
      return !call_.set_add(call_.key(kBuyersKey), user_);
    }
    return term(kPerUser) > 0 &&
           call_.hash_get_integer(call_.key(kBuyersKey), user_).value_or(0) >= term(kPerUser);
  }

  bool user_is_at_day_limit() {
    if (term(kPerDay) <= 0) return false;
    today_ = sale_day(call_.now_ms(), term(kOffset));
    const std::string known = call_.hash_get(call_.key(kDaysKey), user_).value_or("");
    if (const auto colon = known.find(':'); colon != std::string::npos) {
      const std::string_view text = known;
      if (parse_int64(text.substr(0, colon)) == today_) {
        bought_today_ = parse_int64(text.substr(colon + 1)).value_or(0);
      }
    }
    return bought_today_ >= term(kPerDay);
  }

  void admit() {
    const DecimalText limit(term(kPerUser));
    const NativeCall::Field fields[] = {{"userId", user_},
                                        {"voucherId", call_.argument(kVoucherId)},
                                        {"id", call_.argument(kOrder)},
                                        {"limit", limit}};
    call_.stream_append(call_.key(kStreamKey), fields);
    call_.increment_by(call_.key(kStockKey), -1);
    if (term(kCounted) != 0) {
      call_.hash_increment_by(call_.key(kBuyersKey), user_, 1);
    } else if (!is_buyer_) {
      call_.set_add(call_.key(kBuyersKey), user_);
    }
    if (term(kPerDay) > 0) {
      call_.hash_set(call_.key(kDaysKey), user_,
                     std::to_string(today_) + ':' + std::to_string(bought_today_ + 1));
    }
    if (term(kTotal) > 0) {
      const std::string_view voucher = call_.key(kVoucherKey);
      terms_->fields[kAdmitted] = call_.hash_increment_by(voucher, "admitted", 1);
      terms_->revision = call_.hash_revision(voucher);
    }
  }

  Reply answer(AdmissionCode code) {
    const bool is_final = code != AdmissionCode::kUnknownVoucher &&
                          code != AdmissionCode::kStockMissing &&
                          code != AdmissionCode::kRebuilding;
    if (is_final && has_request()) {
      std::string known = parameters() + std::to_string(static_cast<int>(code)) + ' ';
      known += call_.argument(kOrder);
      const Reply kept = call_.call(
          Request::of("SET", call_.key(kRequestKey), known, "PX", call_.argument(kRequestTtl)));
      if (kept.is_error()) throw ScriptError(kept.text());
    }
    return reply_of(code);
  }

  [[nodiscard]] std::int64_t term(Term which) const { return terms_->fields[which].value_or(0); }

  NativeCall& call_;
  const std::string_view user_;
  TermsCache& cache_;
  Terms* terms_ = nullptr;  // set by decide()
  bool is_buyer_ = false;   // was added to the set already
  std::int64_t today_ = 0;
  std::int64_t bought_today_ = 0;
};

}  // namespace

NativeScript native_admission() {
  return [cache = TermsCache()](NativeCall& call) mutable { return Admission(call, cache).run(); };
}

}  // namespace rushgate
