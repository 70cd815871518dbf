// The admission script in C++. It does the same as scripts/admission.lua, line by line, with three
// differences.
//
// The Lua script checks everything before its first change: on Redis the writes of a failed script
// stay. A native script that throws is rolled back as a whole. So this one may make a user a buyer
// before it appends to the stream (is_at_limit()), which saves a lookup. It changes the stock and
// the admitted number once for all users of a call. In the usual case it decides on all users
// together.
#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/sale/model/voucher_terms.h"
#include "engine/sale/scripts/admission.h"
#include "engine/sale/scripts/admission.lua.h"
#include "engine/sale/scripts/held_orders.h"

namespace rushgate {
namespace {

using Keys = lua::AdmissionKeys;
constexpr std::size_t kTokenKey = Keys::kCount;  // of a call with a purchase token
enum AdmissionArgument : std::size_t { kVoucherId, kOptions, kFirstUser };
constexpr std::size_t kArgumentsPerUser = 2;  // the user, the order

enum Term : std::size_t {
  kBegin,
  kEnd,
  kTotal,
  kAdmitted,
  kCounted,
  kPerUser,
  kPerDay,
  kOffset,
  kVersion,
  kPrice,
  kPayMs,
  kToken,
  kTerms
};
constexpr std::array<std::string_view, kTerms> kTermFields = {
    "begin",   "end",    "total",   "admitted", "counted", "per_user",
    "per_day", "offset", "version", "price",    "pay_ms",  "token"};

// Publishing keeps the rule of the stock; giving back keeps the others.
constexpr std::array<std::string_view, 4> kRulesElsewhere = {"published", "restock", "allowance",
                                                             "waiting"};

/// Returns true if each term in a voucher's hash has its rule here or elsewhere.
constexpr bool has_all_rules() {
  return std::ranges::all_of(kVoucherTerms, [](const VoucherTerm& term) {
    return term.field.empty() ||
           std::ranges::find(kRulesElsewhere, term.field) != kRulesElsewhere.end() ||
           std::ranges::find(kTermFields, term.field) != kTermFields.end();
  });
}
static_assert(has_all_rules(), "a term has no rule in the native admission");

/// Returns true if the joint decision keeps a rule (decide_together()). Users of a voucher with any
/// other rule are decided on one after the other.
constexpr bool is_decided_together(Term term) {
  switch (term) {
    case kBegin:
    case kEnd:
    case kTotal:
    case kAdmitted:
    case kPerUser:  // one, since the buyers are a set
    case kOffset:   // has no meaning without a limit per day
    case kVersion:
    case kPrice:
    case kPayMs:
      return true;
    case kCounted:
    case kPerDay:
    case kToken:
    case kTerms:
      return false;
  }
  return false;
}

/// A voucher's hash, read once for as long as it stays the same.
struct CachedTerms {
  NativeCall::Revision revision;
  bool is_closed = false;
  bool serves_first = false;          // waiting users
  bool are_decided_together = false;  // its users
  std::array<std::optional<std::int64_t>, kTerms> fields{};
};

/// The terms of the vouchers requested last, by their hashes' ids.
class TermsCache {
 public:
  /// Returns the terms of the voucher at `key`, which is not empty. Valid until the next call.
  CachedTerms& of(NativeCall& call, std::string_view key) {
    const NativeCall::Revision revision = call.hash_revision(key);
    CachedTerms& terms = known_[revision.hash % kKnown];
    if (terms.revision == revision && revision.hash != 0) return terms;
    terms.revision = {};  // in case reading fails half-way
    terms.is_closed = call.hash_get(key, "closed").has_value();
    terms.serves_first = call.hash_get(key, "serve").has_value();
    call.hash_get_integers(key, kTermFields, terms.fields);
    terms.are_decided_together = true;
    for (std::size_t term = 0; term < kTerms; ++term) {
      const bool is_set = terms.fields[term].value_or(0) != 0;
      if (is_set && !is_decided_together(static_cast<Term>(term))) {
        terms.are_decided_together = false;
      }
    }
    terms.revision = revision;
    return terms;
  }

 private:
  static constexpr std::size_t kKnown = 64;
  std::array<CachedTerms, kKnown> known_;
};

/// The users' wishes in one call, beyond one piece of the voucher.
struct AdmissionOptions {
  /// Reads the script's second argument.
  explicit AdmissionOptions(std::string_view text) {
    if (text.empty()) return;
    const std::size_t first = text.find(' ');
    const std::size_t second = first == text.npos ? first : text.find(' ', first + 1);
    const std::size_t third = second == text.npos ? second : text.find(' ', second + 1);
    const std::size_t fourth = third == text.npos ? third : text.find(' ', third + 1);
    if (fourth == text.npos) throw ScriptError("ERR the options need five parts");
    quantity_text = text.substr(0, first);
    request_ttl_ms = parse_int64(text.substr(first + 1, second - first - 1)).value_or(0);
    const auto prefix = parse_int64(text.substr(second + 1, third - second - 1));
    request_prefix = static_cast<std::size_t>(prefix.value_or(0));
    const std::string_view its_token = text.substr(third + 1, fourth - third - 1);
    if (its_token != "-") {
      token = its_token;
      ++first_request;
    }
    reference = text.substr(fourth + 1);
    quantity = parse_int64(quantity_text).value_or(0);
    if (quantity <= 0) throw ScriptError("ERR the quantity must be positive");
    is_usual = quantity == 1 && reference.empty();
  }

  std::string_view quantity_text = "1";
  std::int64_t request_ttl_ms = 0;
  std::size_t request_prefix = 0;            // bytes of a request's key before the idempotency key
  std::string_view token = {};               // of the only user
  std::size_t first_request = Keys::kCount;  // among the keys
  std::string_view reference = {};
  std::int64_t quantity = 1;
  bool is_usual = true;
};

/// Decides on the users of one call, one after the other. Reads the values that they share once,
/// and writes them once, at the end.
class Admissions {
 public:
  Admissions(NativeCall& call, TermsCache& cache)
      : call_(call),
        terms_(cache.of(call, call.key(Keys::kVoucher))),
        total_(term(kTotal)),
        admitted_(term(kAdmitted)),
        is_counted_(term(kCounted) != 0),
        per_user_(term(kPerUser)),
        per_day_(term(kPerDay)),
        needs_token_(term(kToken) != 0),
        options_(call.argument(kOptions)) {
    if (!options_.token.empty() && call.key_count() <= kTokenKey) {
      throw ScriptError("ERR a purchase token needs its key");
    }
  }

  /// Decides on the only user. Its failure fails the whole call.
  Reply decide_on_one() {
    Reply reply = decide_on(0);
    finish();
    return reply;
  }

  /// Decides on all users.
  Reply decide_on_all(std::size_t users) {
    std::vector<Reply> replies;
    replies.reserve(users);
    if (!decide_together(users, replies)) {
      for (std::size_t i = 0; i < users; ++i) {
        replies.push_back(call_.attempt([&] { return decide_on(i); }));
      }
      finish();
    }
    return Reply::array(std::move(replies));
  }

 private:
  struct Buyer {
    MaybeInteger user;
    MaybeInteger order;
    std::string_view request = {};  // its key, if there is one
    bool is_in_set = false;         // was made a buyer already
    std::int64_t today = 0;         // with a limit per day
    std::int64_t bought_today = 0;
  };

  /// Returns true if each user comes with an idempotency key.
  [[nodiscard]] bool has_requests() const { return call_.key_count() > options_.first_request; }
  static std::size_t argument_of(std::size_t index) {
    return kFirstUser + kArgumentsPerUser * index;
  }
  [[nodiscard]] MaybeInteger user(std::size_t index) const {
    return call_.argument(argument_of(index));
  }

  /// Decides on the `index`th user. If it throws, nothing about the user is remembered here.
  Reply decide_on(std::size_t index) {
    const bool has_request = has_requests();
    if (!has_request) {  // a refusal of every user needs no valid user
      if (const auto refusal = refusal_of_all()) return reply_of(*refusal);
    }
    Buyer buyer{.user = user(index), .order = call_.argument(argument_of(index) + 1)};
    if (has_request) {
      buyer.request = call_.key(options_.first_request + index);
      if (auto repeated = find_repeated(buyer)) return *std::move(repeated);
    }
    const AdmissionCode code = code_for(buyer);
    if (code == AdmissionCode::kAccepted) admit(buyer);
    if (code == AdmissionCode::kAccepted && has_request) keep_acceptance(buyer);
    if (code == AdmissionCode::kAccepted) {
      accepted_ += options_.quantity;
      if (is_paid()) note_unpaid(buyer.user.text(), buyer.order.text());
    }
    return reply_of(code);
  }

  static Reply reply_of(AdmissionCode code) {
    return Reply::integer(static_cast<std::int64_t>(code));
  }

  /// Returns the parameters kept with a request: "<user> <voucher>[x<quantity>] ", before "<code>
  /// <order>".
  [[nodiscard]] std::string parameters(const Buyer& buyer) const {
    std::string text(buyer.user.text());
    text += ' ';
    text += call_.argument(kVoucherId);
    if (options_.quantity != 1) text += concat("x", options_.quantity);
    return text += ' ';
  }

  /// Returns the earlier reply to this request, if there was one.
  std::optional<Reply> find_repeated(const Buyer& buyer) {
    const Reply known = call_.call(Request::of("GET", buyer.request));
    if (known.is_error()) throw ScriptError(known.text());
    if (known.is_nil()) return std::nullopt;
    std::string_view text = known.text();
    const std::string expected = parameters(buyer);
    if (text.substr(0, expected.size()) != expected) return reply_of(AdmissionCode::kKeyReused);
    text.remove_prefix(expected.size());
    const auto space = text.find(' ');
    const auto code = parse_int64(text.substr(0, space));
    if (!code || space == text.npos) return reply_of(AdmissionCode::kKeyReused);
    return Reply::array({Reply::integer(*code), Reply::bulk(text.substr(space + 1))});
  }

  void keep_acceptance(const Buyer& buyer) {
    std::string known = parameters(buyer) + "0 ";
    known += buyer.order.text();
    const Reply kept = call_.call(Request::of("SET", buyer.request, known, "PXAT", key_until_ms()));
    if (kept.is_error()) throw ScriptError(kept.text());
  }

  AdmissionCode code_for(Buyer& buyer) {
    if (const auto refusal = refusal_of_all()) return *refusal;
    if (is_at_limit(buyer)) return AdmissionCode::kLimitReached;
    if (is_at_day_limit(buyer)) return AdmissionCode::kDayLimitReached;
    if (needs_token_ && !has_valid_token()) return AdmissionCode::kTokenRefused;
    return AdmissionCode::kAccepted;
  }

  /// Returns why no user can be admitted, if that is so.
  std::optional<AdmissionCode> refusal_of_all() {
    if (terms_.is_closed) return AdmissionCode::kRebuilding;
    if (!terms_.fields[kBegin]) return AdmissionCode::kUnknownVoucher;
    if (call_.now_ms() < term(kBegin)) return AdmissionCode::kNotStarted;
    if (call_.now_ms() >= term(kEnd)) return AdmissionCode::kEnded;
    if (terms_.serves_first) return AdmissionCode::kServesFirst;

    if (!stock_) stock_ = call_.get_integer(call_.key(Keys::kStock));
    if (!stock_) return AdmissionCode::kStockMissing;
    if (left() < options_.quantity) return AdmissionCode::kSoldOut;
    return std::nullopt;
  }

  /// Returns how many more pieces can be sold. The stock must be known.
  [[nodiscard]] std::int64_t left() const {
    const std::int64_t of_stock = *stock_ - accepted_;
    return total_ > 0 ? std::min(of_stock, total_ - admitted_ - accepted_) : of_stock;
  }

  /// Decides the usual case: a limit of one, none per day, no idempotency keys. Decides as if on
  /// one user after the other, and appends the replies. Returns false, with nothing done, in
  /// another case or on a failure.
  bool decide_together(std::size_t users, std::vector<Reply>& replies) {
    if (!terms_.are_decided_together || has_requests() || !options_.is_usual) return false;
    const Reply done = call_.attempt([&] {
      admit_together(users, replies);
      return Reply::nil();
    });
    if (!done.is_error()) return true;
    replies.clear();
    stock_.reset();
    accepted_ = 0;
    unpaid_.clear();
    held_.reset();
    return false;
  }

  void admit_together(std::size_t users, std::vector<Reply>& replies) {
    if (const auto refusal = refusal_of_all()) {
      replies.assign(users, reply_of(*refusal));
      return;
    }
    std::vector<std::int64_t> members(users);
    for (std::size_t i = 0; i < users; ++i) members[i] = integer_of(user(i));
    const auto is_new = std::make_unique<bool[]>(users);
    const std::size_t asked = call_.set_add_integers(
        call_.key(Keys::kBuyers), members, static_cast<std::size_t>(left()), {is_new.get(), users});

    append_rows(members, {is_new.get(), asked});
    finish();
    for (std::size_t i = 0; i < users; ++i) {
      replies.push_back(reply_of(i >= asked  ? AdmissionCode::kSoldOut
                                 : is_new[i] ? AdmissionCode::kAccepted
                                             : AdmissionCode::kLimitReached));
    }
  }

  static constexpr std::array<std::string_view, 7> kRowFields = {
      "userId", "voucherId", "id", "limit", "version", "price", "due"};
  using Row = std::array<std::int64_t, kRowFields.size()>;

  /// Returns the number of fields of an entry in the usual case.
  [[nodiscard]] std::size_t row_size() const { return kRowFields.size() - (is_paid() ? 0 : 1); }
  [[nodiscard]] auto row_fields() const { return std::span(kRowFields).first(row_size()); }
  [[nodiscard]] Row make_row(std::int64_t voucher) const {
    return {0, voucher, 0, per_user_, term(kVersion), term(kPrice), due_ms()};
  }
  static void set_buyer(Row& row, std::int64_t user, std::int64_t order) {
    row[0] = user;
    row[2] = order;
  }

  /// Appends an entry for each new buyer.
  void append_rows(std::span<const std::int64_t> users, std::span<const bool> is_new) {
    Row row = make_row(integer_of(call_.argument(kVoucherId)));
    const std::size_t size = row_size();
    std::vector<std::int64_t> rows(is_new.size() * size + row.size());
    std::int64_t* next = rows.data();
    for (std::size_t i = 0; i < is_new.size(); ++i) {
      if (!is_new[i]) continue;
      set_buyer(row, users[i], integer_of(call_.argument(argument_of(i) + 1)));
      std::copy_n(row.data(), row.size(), next);  // the next row overwrites its end
      next += size;
      ++accepted_;
    }
    rows.resize(static_cast<std::size_t>(next - rows.data()));
    call_.stream_append_rows(call_.key(Keys::kStream), row_fields(), rows);
    for (std::size_t i = 0; is_paid() && i < is_new.size(); ++i) {
      if (is_new[i])
        note_unpaid(call_.argument(argument_of(i)), call_.argument(argument_of(i) + 1));
    }
  }

  static std::int64_t integer_of(const MaybeInteger& number) {
    if (!number.is_integer())
      throw ScriptError("ERR not an integer");  // decide_on() takes any string
    return number.integer();
  }

  /// Writes the values that the decisions share.
  void finish() {
    if (accepted_ == 0) return;
    assert(std::ssize(unpaid_) * options_.quantity == (is_paid() ? accepted_ : 0));
    if (!unpaid_.empty()) hold_unpaid();
    [[maybe_unused]] const std::int64_t left =
        call_.increment_by(call_.key(Keys::kStock), -accepted_);
    assert(left >= 0);  // no piece is sold twice
    if (total_ <= 0) return;
    const std::string_view voucher = call_.key(Keys::kVoucher);
    terms_.fields[kAdmitted] = call_.hash_increment_by(voucher, "admitted", accepted_);
    assert(terms_.fields[kAdmitted] <= total_);
    terms_.revision = call_.hash_revision(voucher);
  }

  bool is_at_limit(Buyer& buyer) {
    const std::string_view buyers = call_.key(Keys::kBuyers);
    if (is_counted_) {
      const std::int64_t bought = call_.hash_get_integer(buyers, buyer.user.text()).value_or(0);
      return per_user_ > 0 && bought > per_user_ - options_.quantity;
    }
    if (options_.quantity > 1) return true;  // a set holds one piece of each buyer
    if (per_day_ > 0 || needs_token_) return call_.set_contains(buyers, buyer.user.text());
    // Nothing else can refuse the user: making it a buyer reveals whether it was one already.
    buyer.is_in_set = true;
    return !call_.set_add(buyers, buyer.user);
  }

  bool is_at_day_limit(Buyer& buyer) {
    if (per_day_ <= 0) return false;
    // The day of an order is that of its entry. Its time does not go back when the clock does.
    const std::int64_t last_ms = call_.stream_last_ms(call_.key(Keys::kStream));
    buyer.today = sale_day(std::max(call_.now_ms(), last_ms), term(kOffset));
    const std::string known =
        call_.hash_get(call_.key(Keys::kDays), buyer.user.text()).value_or("");
    if (const auto colon = known.find(':'); colon != std::string::npos) {
      const std::string_view text = known;
      const auto day = parse_int64(text.substr(0, colon));
      if (day && *day >= buyer.today) {
        buyer.today = *day;
        buyer.bought_today = parse_int64(text.substr(colon + 1)).value_or(0);
      }
    }
    return buyer.bought_today > per_day_ - options_.quantity;
  }

  bool has_valid_token() {
    if (options_.token.empty()) return false;
    const Reply known = call_.call(Request::of("GET", call_.key(kTokenKey)));
    if (known.is_error()) throw ScriptError(known.text());
    return known.is_text() && known.text() == options_.token;
  }
  void spend_token() {
    const Reply spent = call_.call(
        Request::of("SET", call_.key(kTokenKey), concat(options_.token, " used"), "KEEPTTL"));
    if (spent.is_error()) throw ScriptError(spent.text());
  }

  void admit(const Buyer& buyer) {
    if (is_paid()) check_hold(buyer.order.text());
    append_entry(buyer);
    if (needs_token_) spend_token();
    const std::string_view buyers = call_.key(Keys::kBuyers);
    if (is_counted_) {
      call_.hash_increment_by(buyers, buyer.user.text(), options_.quantity);
    } else if (!buyer.is_in_set) {
      call_.set_add(buyers, buyer.user);
    }
    if (per_day_ > 0) {
      call_.hash_set(call_.key(Keys::kDays), buyer.user.text(),
                     std::to_string(buyer.today) + ':' +
                         std::to_string(buyer.bought_today + options_.quantity));
    }
  }

  [[nodiscard]] bool is_paid() const { return term(kPayMs) > 0; }
  [[nodiscard]] std::int64_t due_ms() const { return call_.now_ms() + term(kPayMs); }
  [[nodiscard]] std::int64_t key_until_ms() const {
    return call_.now_ms() + options_.request_ttl_ms;
  }

  void append_entry(const Buyer& buyer) {
    const MaybeInteger voucher = call_.argument(kVoucherId);
    if (options_.is_usual && buyer.request.empty() && voucher.is_integer() &&
        buyer.user.is_integer() && buyer.order.is_integer()) {
      Row row = make_row(voucher.integer());
      set_buyer(row, buyer.user.integer(), buyer.order.integer());
      call_.stream_append_rows(call_.key(Keys::kStream), row_fields(),
                               std::span(row).first(row_size()));
      return;
    }
    constexpr std::size_t kFieldsMax = 11;
    const DecimalText limit(per_user_);
    const DecimalText version(term(kVersion));
    const DecimalText price(term(kPrice));
    const DecimalText due(due_ms());
    const DecimalText key_until(key_until_ms());
    std::array<NativeCall::Field, kFieldsMax> fields = {{{"userId", buyer.user},
                                                         {"voucherId", voucher},
                                                         {"id", buyer.order},
                                                         {"limit", limit.view()},
                                                         {"version", version.view()},
                                                         {"price", price.view()}}};
    std::size_t count = 6;
    if (options_.quantity != 1) fields[count++] = {"quantity", options_.quantity_text};
    if (is_paid()) fields[count++] = {"due", due.view()};
    if (!options_.reference.empty()) fields[count++] = {"reference", options_.reference};
    if (!buyer.request.empty()) {
      fields[count++] = {"request_key", buyer.request.substr(options_.request_prefix)};
      fields[count++] = {"request_until", key_until.view()};
    }
    call_.stream_append(call_.key(Keys::kStream), std::span(fields).first(count));
  }

  /// An order of this call that waits for its payment.
  struct Unpaid {
    std::string_view user;
    std::string_view order;
  };
  /// Throws if the order cannot be held, so that this fails for its user alone.
  void check_hold(std::string_view order) {
    call_.sorted_set_size(call_.key(Keys::kDeadlines));
    held().check_order(order);
  }
  HeldOrders& held() { return held_ ? *held_ : held_.emplace(call_, call_.key(Keys::kHeld)); }
  void note_unpaid(std::string_view user, std::string_view order) {
    unpaid_.push_back({user, order});
  }

  /// Holds the unpaid orders, and gives them one deadline. Their entries were appended in one
  /// millisecond.
  void hold_unpaid() {
    std::string hold = concat(call_.argument(kVoucherId), " ");
    const std::size_t user_at = hold.size();
    const std::string end =
        concat(" ", options_.quantity, " ", term(kPrice) * options_.quantity, " ",
               call_.stream_last_ms(call_.key(Keys::kStream)), " ", due_ms());
    std::string deadline;
    std::string_view last;
    for (const Unpaid& unpaid : unpaid_) {
      hold.resize(user_at);
      hold.append(unpaid.user).append(end);
      held().check_order(unpaid.order);
      held().set(unpaid.order, hold);
      add_to_deadline(unpaid.order, deadline, last);
    }
    held().write();
    call_.sorted_set_add(call_.key(Keys::kDeadlines), deadline, static_cast<double>(due_ms()));
  }

  [[nodiscard]] std::int64_t term(Term which) const { return terms_.fields[which].value_or(0); }

  NativeCall& call_;
  CachedTerms& terms_;
  const std::int64_t total_;
  const std::int64_t admitted_;
  const bool is_counted_;
  const std::int64_t per_user_;
  const std::int64_t per_day_;
  const bool needs_token_;
  const AdmissionOptions options_;
  std::optional<std::int64_t> stock_;  // before this call; read when first needed
  std::int64_t accepted_ = 0;          // pieces, in this call
  std::vector<Unpaid> unpaid_ = {};
  std::optional<HeldOrders> held_ = {};  // only if orders demand payment
};

}  // namespace

NativeScript native_admission() {
  return [cache = TermsCache()](NativeCall& call) mutable {
    if (call.key_count() < Keys::kCount || call.argument_count() < kFirstUser + kArgumentsPerUser) {
      throw ScriptError(
          "ERR admission needs seven keys, and two arguments before the first user's");
    }
    const std::size_t users = (call.argument_count() - kFirstUser) / kArgumentsPerUser;
    Admissions admissions(call, cache);  // a failure here fails for all users
    return users == 1 ? admissions.decide_on_one() : admissions.decide_on_all(users);
  };
}

}  // namespace rushgate
