#include "tests/project/own_order_store/file_order_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace rushgate {
namespace {

constexpr std::string_view kCommit = "commit\n";

/// Returns a word for any string. The dot keeps an empty one a word.
std::string escaped(const std::string& text) { return "." + absl::WebSafeBase64Escape(text); }
std::string unescaped(const std::string& word) {
  std::string text;
  absl::WebSafeBase64Unescape(word.substr(1), &text);
  return text;
}

std::string line_of(const Order& order) {
  return absl::StrCat("order ", order.id, " ", order.user.text(), " ", order.voucher, " ",
                      static_cast<int>(order.status), " ", order.limit, " ", order.admitted_at_ms,
                      " ", order.entry.ms, " ", order.entry.seq, " ", order.created_at_ms, " ",
                      order.version, " ", order.price_cents, " ", order.quantity, " ",
                      order.due_at_ms, " ", order.keeps_stock, " ", order.keeps_allowance, " ",
                      order.key_expires_at_ms, " ", escaped(order.reference), " ",
                      escaped(order.idempotency_key), "\n");
}

Order read_order(std::istream& words) {
  Order order;
  int status = 0;
  std::string user;
  std::string reference;
  std::string idempotency_key;
  words >> order.id >> user >> order.voucher >> status >> order.limit >> order.admitted_at_ms >>
      order.entry.ms >> order.entry.seq >> order.created_at_ms >> order.version >>
      order.price_cents >> order.quantity >> order.due_at_ms >> order.keeps_stock >>
      order.keeps_allowance >> order.key_expires_at_ms >> reference >> idempotency_key;
  order.user = UserId(user);
  order.status = static_cast<OrderStatus>(status);
  order.reference = unescaped(reference);
  order.idempotency_key = unescaped(idempotency_key);
  return order;
}

bool matches(const Order& order, const OrderFilter& filter) {
  return order.user == filter.user.value_or(order.user) &&
         order.voucher == filter.voucher.value_or(order.voucher) &&
         order.status == filter.status.value_or(order.status);
}

}  // namespace

// ---- The file -----------------------------------------------------------------------------------

absl::StatusOr<std::unique_ptr<FileOrderStore>> FileOrderStore::open(
    const std::filesystem::path& file) {
  const int opened = ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (opened < 0) return absl::ErrnoToStatus(errno, "opening " + file.string());
  std::unique_ptr<FileOrderStore> store(new FileOrderStore(opened));
  absl::Status ready = store->load();
  if (ready.ok() && store->state_.identity.empty()) {
    store->state_ = {.identity = new_database_identity(), .epoch = 1};
    ready = store->commit(absl::StrCat("identity ", store->state_.identity, "\nepoch 1\n"));
  }
  if (!ready.ok()) return ready;
  return store;
}

FileOrderStore::~FileOrderStore() { ::close(file_); }

absl::Status FileOrderStore::load() {
  std::string log;
  char bytes[4096];
  ssize_t count = 0;
  while ((count = ::read(file_, bytes, sizeof bytes)) > 0) {
    log.append(bytes, static_cast<std::size_t>(count));
  }
  if (count < 0) return absl::ErrnoToStatus(errno, "reading orders");
  const std::size_t last = log.rfind("\n" + std::string(kCommit));
  log.resize(last == std::string::npos ? 0 : last + 1 + kCommit.size());
  if (::ftruncate(file_, static_cast<off_t>(log.size())) != 0) {
    return absl::ErrnoToStatus(errno, "truncating orders");
  }
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) apply(line);
  return absl::OkStatus();
}

void FileOrderStore::apply(const std::string& line) {
  std::istringstream words(line);
  std::string kind;
  words >> kind;
  if (kind == "order") {
    const Order order = read_order(words);
    orders_.emplace(order.id, order);
  } else if (kind == "identity") {
    words >> state_.identity;
  } else if (kind == "epoch") {
    words >> state_.epoch;
  } else if (kind == "recorded") {
    words >> state_.checkpoint >> state_.revision;
  } else if (kind == "ids") {
    std::int64_t day = 0;
    words >> day;
    words >> reserved_ids_[day];
  }
}

/// After a failure the end of the file is unknown, so every later call fails until a new open().
absl::Status FileOrderStore::commit(const std::string& lines) {
  if (has_failed_) return absl::UnavailableError("orders: open the file again");
  if (lines.empty()) return absl::OkStatus();
  const std::string transaction = lines + std::string(kCommit);
  has_failed_ = ::write(file_, transaction.data(), transaction.size()) !=
                    static_cast<ssize_t>(transaction.size()) ||
                ::fdatasync(file_) != 0;
  return has_failed_ ? absl::ErrnoToStatus(errno, "writing orders") : absl::OkStatus();
}

// ---- The five methods ---------------------------------------------------------------------------

absl::StatusOr<std::vector<OrderResult>> FileOrderStore::write(std::span<const Order> orders,
                                                               const BatchFence& fence) {
  const std::lock_guard lock(mutex_);
  if (absl::Status current = check_fence(fence, state_); !current.ok()) return current;
  std::string lines;
  std::vector<OrderResult> results;
  std::vector<OrderId> inserted;
  for (const Order& order : orders) {
    results.push_back(check_order(order, rivals_of(order, fence)));
    if (results.back().kind != OrderResult::Kind::kStored) continue;
    orders_.emplace(order.id, order);
    inserted.push_back(order.id);
    lines += line_of(order);
  }
  DatabaseState state = state_;
  state.record(fence);
  absl::StrAppend(&lines, "recorded ", state.checkpoint, " ", state.revision, "\n");
  if (const absl::Status committed = commit(lines); !committed.ok()) {
    for (const OrderId id : inserted) orders_.erase(id);
    return committed;
  }
  state_ = state;
  return results;
}

OrderRivals FileOrderStore::rivals_of(const Order& order, const BatchFence& fence) const {
  OrderRivals rivals{.stock = fence.stock_of(order.voucher)};
  for (const auto& [id, other] : orders_) {
    if (id == order.id) rivals.same_id = other;
    if (shares_key(other, order)) rivals.same_key = other;
    if (other.voucher != order.voucher) continue;
    rivals.taken_of_voucher += pieces_taken(other);
    if (other.status == OrderStatus::kRefunding) rivals.refunding_of_voucher += other.quantity;
    rivals.add_of_user(other, order);
  }
  return rivals;
}

absl::StatusOr<std::vector<Order>> FileOrderStore::list(const OrderFilter& filter) {
  const std::lock_guard lock(mutex_);
  std::vector<Order> found;
  for (auto it = orders_.upper_bound(filter.after); it != orders_.end(); ++it) {
    if (found.size() >= filter.count_max) break;
    if (matches(it->second, filter)) found.push_back(it->second);
  }
  return found;
}

absl::StatusOr<DatabaseState> FileOrderStore::state() {
  const std::lock_guard lock(mutex_);
  return state_;
}

absl::StatusOr<DatabaseState> FileOrderStore::fence() {
  const std::lock_guard lock(mutex_);
  const absl::Status committed = commit(absl::StrCat("epoch ", state_.epoch + 1, "\n"));
  if (!committed.ok()) return committed;
  ++state_.epoch;
  return state_;
}

absl::StatusOr<std::int64_t> FileOrderStore::reserve_ids(std::int64_t day, std::int64_t above,
                                                         std::int64_t count) {
  const std::lock_guard lock(mutex_);
  const auto known = reserved_ids_.find(day);
  const std::int64_t before = known == reserved_ids_.end() ? 0 : known->second;
  const std::int64_t reserved = std::max(before, above) + count;
  if (count == 0) return reserved;
  const absl::Status committed = commit(absl::StrCat("ids ", day, " ", reserved, "\n"));
  if (!committed.ok()) return committed;
  // Days before the last two are not needed any more.
  reserved_ids_.erase(reserved_ids_.begin(), reserved_ids_.lower_bound(day - 1));
  return reserved_ids_[day] = reserved;
}

}  // namespace rushgate
