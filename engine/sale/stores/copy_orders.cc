#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "engine/sale/stores/database_identity.h"
#include <rushgate/copy_orders.h>

namespace rushgate {
namespace {

// ---- The three kinds of records ----

std::string name_of(const Order& order) { return concat("order ", order.id); }
std::string name_of(const Payment& payment) { return concat("payment ", payment.id); }
std::string name_of(const OrderChange& change) { return concat("change ", change.position); }

template <class Record>
using Key = std::remove_cvref_t<decltype(key_of(std::declval<Record>()))>;

template <class Record>
absl::StatusOr<std::vector<Record>> read(RecordStore& store, Shelf shelf, const Key<Record>& after,
                                         std::size_t count_max) {
  if constexpr (std::is_same_v<Record, Order>) {
    return store.read_orders(shelf, after, count_max);
  } else if constexpr (std::is_same_v<Record, Payment>) {
    return store.read_payments(shelf, after, count_max);
  } else {
    return store.read_changes(shelf, after, count_max);
  }
}

/// The records of a table, one after the other. Reads a portion at a time.
template <class Record>
class Records {
 public:
  Records(RecordStore& store, Shelf shelf, std::size_t portion)
      : store_(store), shelf_(shelf), portion_(portion) {}

  /// Returns the next record; null at the end.
  absl::StatusOr<const Record*> next() {
    if (at_ == records_.size() && !is_last_) {
      ASSIGN_OR_RETURN(records_, read<Record>(store_, shelf_, after_, portion_));
      at_ = 0;
      is_last_ = records_.size() < portion_;
      if (!records_.empty()) after_ = key_of(records_.back());
    }
    return at_ == records_.size() ? nullptr : &records_[at_];
  }
  /// Goes to the one behind it.
  void skip() { ++at_; }

 private:
  RecordStore& store_;
  const Shelf shelf_;
  const std::size_t portion_;
  std::vector<Record> records_;
  std::size_t at_ = 0;
  Key<Record> after_{};
  bool is_last_ = false;
};

// ---- The databases ----

bool is_new(const SaleRecords& sale, std::int64_t records) {
  const DatabaseState fresh{.identity = sale.state.identity, .epoch = 1};
  return records == 0 && sale == SaleRecords{.state = fresh};
}

/// What is to be done with two databases.
enum class Relation : std::uint8_t { kToBegin, kToContinue, kDone };

absl::StatusOr<Relation> relate(const SaleRecords& from, const SaleRecords& to,
                                std::int64_t records_of_to) {
  const DatabaseUse from_use = use_of(from.state.identity);
  const DatabaseUse to_use = use_of(to.state.identity);
  const auto refuse = [](const char* why) { return absl::FailedPreconditionError(why); };
  if (from_use == DatabaseUse::kUnfinished) {
    return refuse("the database to copy is itself an unfinished copy");
  }
  const bool is_same = identity_for(from.state.identity, DatabaseUse::kOpen) ==
                       identity_for(to.state.identity, DatabaseUse::kOpen);
  if (!is_same && !is_new(to, records_of_to)) {
    return refuse("the database to copy to has another sale: name an empty one");
  }
  if (is_same && to_use == DatabaseUse::kUnfinished) return Relation::kToContinue;
  if (is_same && to_use == DatabaseUse::kOpen) {
    if (from_use == DatabaseUse::kMoved) return Relation::kDone;
    return refuse("both databases are in use, and one is a copy of the other");
  }
  if (from_use == DatabaseUse::kMoved) {
    return refuse("the orders were moved to another database: copy that one");
  }
  return Relation::kToBegin;
}

/// One copying of a database.
class Copier {
 public:
  Copier(RecordStore& from, RecordStore& to, const CopyOrdersOptions& options)
      : from_(from), to_(to), options_(options) {}

  absl::StatusOr<CopyReport> run() {
    ASSIGN_OR_RETURN(const SaleRecords before, from_.read_sale());
    ASSIGN_OR_RETURN(const Relation relation, prepare(before));
    report_.was_complete = relation == Relation::kDone;
    if (report_.was_complete) return report_;
    RETURN_IF_ERROR(copy_all());
    ASSIGN_OR_RETURN(const SaleRecords copied, from_.read_sale());
    is_comparing_ = true;
    report_.orders = report_.payments = report_.changes = 0;
    RETURN_IF_ERROR(copy_all());
    RETURN_IF_ERROR(close_source(copied));
    RETURN_IF_ERROR(finish(copied));
    return report_;
  }

 private:
  /// Makes `to` an unfinished copy.
  absl::StatusOr<Relation> prepare(const SaleRecords& before) {
    ASSIGN_OR_RETURN(SaleRecords present, to_.read_sale());
    ASSIGN_OR_RETURN(const std::int64_t records_of_to, to_.count());
    ASSIGN_OR_RETURN(const Relation relation, relate(before, present, records_of_to));
    if (relation == Relation::kToBegin) {
      present.state.identity = identity_for(before.state.identity, DatabaseUse::kUnfinished);
      RETURN_IF_ERROR(to_.replace_sale(present));
    }
    ASSIGN_OR_RETURN(const std::int64_t records, from_.count());
    progress_.records_total = 2 * records;
    return relation;
  }

  absl::Status copy_all() {
    for (const Shelf shelf : {Shelf::kCurrent, Shelf::kArchive}) {
      RETURN_IF_ERROR(copy_table<Order>(shelf, report_.orders));
      RETURN_IF_ERROR(copy_table<Payment>(shelf, report_.payments));
      RETURN_IF_ERROR(copy_table<OrderChange>(shelf, report_.changes));
    }
    return absl::OkStatus();
  }

  /// Makes both tables equal. Counts their records.
  template <class Record>
  absl::Status copy_table(Shelf shelf, std::int64_t& count) {
    Records<Record> wanted(from_, shelf, options_.portion);
    Records<Record> present(to_, shelf, options_.portion);
    std::vector<Record> removed;
    std::vector<Record> added;
    const auto write = [&]() -> absl::Status {
      if (removed.empty() && added.empty()) return absl::OkStatus();
      report_.written += static_cast<std::int64_t>(std::max(removed.size(), added.size()));
      absl::Status written = to_.replace(shelf, removed, added);
      removed.clear();
      added.clear();
      return written;
    };
    std::size_t since_portion = 0;
    while (true) {
      ASSIGN_OR_RETURN(const Record* const one, wanted.next());
      ASSIGN_OR_RETURN(const Record* const other, present.next());
      if (one == nullptr && other == nullptr) return write();
      const bool is_less = one != nullptr && (other == nullptr || key_of(*one) < key_of(*other));
      const bool is_greater = other != nullptr && (one == nullptr || key_of(*other) < key_of(*one));
      if (is_less || is_greater || !(*one == *other)) {
        if (is_comparing_) return difference(is_greater ? *other : *one);
        if (!is_less) removed.push_back(*other);
        if (!is_greater) added.push_back(*one);
      }
      if (!is_less) present.skip();
      if (!is_greater) {
        wanted.skip();
        ++count;
        ++progress_.records;
      }
      if (std::max(removed.size(), added.size()) == options_.portion) RETURN_IF_ERROR(write());
      if (++since_portion % options_.portion == 0) {
        RETURN_IF_ERROR(options_.between_portions(progress_));
      }
    }
  }

  template <class Record>
  static absl::Status difference(const Record& record) {
    return absl::AbortedError(
        concat(name_of(record),
               " differs in both databases after it was copied: stop all processes that write to "
               "either, and copy again"));
  }

  /// Closes `from`, which must still be as it was when everything was compared.
  absl::Status close_source(const SaleRecords& copied) {
    if (use_of(copied.state.identity) == DatabaseUse::kMoved) return absl::OkStatus();
    return from_.close(
        [&](const SaleRecords& now) {
          if (now == copied) return absl::OkStatus();
          return absl::AbortedError(
              "the database was changed while it was copied: stop the processes that sell, store "
              "or "
              "publish with it, and copy again, which copies only what has changed");
        },
        identity_for(copied.state.identity, DatabaseUse::kMoved));
  }

  absl::Status finish(SaleRecords copied) {
    copied.state.identity = identity_for(copied.state.identity, DatabaseUse::kOpen);
    ++copied.state.epoch;
    for (LaneRecord& lane : copied.lanes) ++lane.epoch;
    RETURN_IF_ERROR(to_.replace_sale(copied));
    ASSIGN_OR_RETURN(const SaleRecords stored, to_.read_sale());
    if (!(stored == copied)) {
      return absl::DataLossError("the vouchers differ in both databases after they were copied");
    }
    report_.versions =
        static_cast<std::int64_t>(copied.versions.size() + copied.archived_versions.size());
    return absl::OkStatus();
  }

  RecordStore& from_;
  RecordStore& to_;
  const CopyOrdersOptions& options_;
  CopyProgress progress_;
  CopyReport report_;
  bool is_comparing_ = false;  // changes nothing any more
};

}  // namespace

absl::StatusOr<CopyReport> copy_orders(OrderStore& from, OrderStore& to,
                                       const CopyOrdersOptions& options) {
  RecordStore* const from_records = from.records();
  RecordStore* const to_records = to.records();
  if (from_records == nullptr || to_records == nullptr) {
    return absl::UnimplementedError("one of the order databases has no records to copy");
  }
  return copy_records(*from_records, *to_records, options);
}

absl::StatusOr<CopyReport> copy_records(RecordStore& from, RecordStore& to,
                                        const CopyOrdersOptions& options) {
  return Copier(from, to, options).run();
}

}  // namespace rushgate
