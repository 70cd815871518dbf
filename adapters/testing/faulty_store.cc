#include <stdexcept>
#include <string>
#include <utility>

#include <rushgate/testing_stores.h>

namespace rushgate::faults {
namespace {

void check_nth(int nth) {
  if (nth < 1) throw std::invalid_argument("the next one is the first, not " + std::to_string(nth));
}

}  // namespace

FaultyStore::FaultyStore(std::unique_ptr<Store> store)
    : owned_(std::move(store)), store_(*owned_) {}

FaultyStore::FaultyStore(Store& store) : store_(store) {}

void FaultyStore::fail_commit(int nth, Kept kept, absl::Status error) {
  check_nth(nth);
  const std::lock_guard lock(mutex_);
  commits_.fault = Fault{commits_.count + nth, kept, std::move(error)};
}

void FaultyStore::fail_sync(int nth, Kept kept, absl::Status error) {
  check_nth(nth);
  const std::lock_guard lock(mutex_);
  syncs_.fault = Fault{syncs_.count + nth, kept, std::move(error)};
}

void FaultyStore::fail_reads(absl::Status error) {
  const std::lock_guard lock(mutex_);
  read_error_ = std::move(error);
}

void FaultyStore::fail_loads(absl::Status error) {
  const std::lock_guard lock(mutex_);
  load_error_ = std::move(error);
}

void FaultyStore::at_every_point(std::function<void(Point)> hook) { hook_ = std::move(hook); }

int FaultyStore::commits() const {
  const std::lock_guard lock(mutex_);
  return commits_.count;
}

int FaultyStore::syncs() const {
  const std::lock_guard lock(mutex_);
  return syncs_.count;
}

std::optional<FaultyStore::Fault> FaultyStore::Calls::next() {
  ++count;
  if (!fault || fault->at != count) return std::nullopt;
  return std::exchange(fault, std::nullopt);
}

// Without the mutex: other threads may commit during a sync.
absl::Status FaultyStore::run(Calls& calls, Point before, Point after,
                              absl::FunctionRef<absl::Status()> call) {
  std::optional<Fault> fault;
  {
    const std::lock_guard lock(mutex_);
    fault = calls.next();
  }
  if (hook_) hook_(before);
  absl::Status status;
  if (!fault || fault->kept == Kept::kYes) status = call();
  if (fault && status.ok()) status = fault->error;
  if (hook_ && status.ok()) hook_(after);
  return status;
}

absl::Status FaultyStore::load(
    absl::FunctionRef<void(std::string_view key, std::string_view value)> visit) {
  {
    const std::lock_guard lock(mutex_);
    if (!load_error_.ok()) return load_error_;
  }
  return store_.load(visit);
}

absl::Status FaultyStore::commit(const StoreBatch& batch) {
  return run(commits_, Point::kBeforeCommit, Point::kAfterCommit,
             [&] { return store_.commit(batch); });
}

absl::Status FaultyStore::sync() {
  return run(syncs_, Point::kBeforeSync, Point::kAfterSync, [&] { return store_.sync(); });
}

absl::Status FaultyStore::read_error() const {
  const std::lock_guard lock(mutex_);
  return read_error_;
}

absl::Status FaultyStore::read_stream(std::uint64_t stream, StreamId from, StreamId to,
                                      std::size_t bytes_max, std::vector<StreamSegment>& segments) {
  const absl::Status fault = read_error();
  return fault.ok() ? store_.read_stream(stream, from, to, bytes_max, segments) : fault;
}

absl::Status FaultyStore::read_stream_back(std::uint64_t stream, StreamId from, StreamId to,
                                           std::size_t bytes_max,
                                           std::vector<StreamSegment>& segments) {
  const absl::Status fault = read_error();
  return fault.ok() ? store_.read_stream_back(stream, from, to, bytes_max, segments) : fault;
}

absl::Status FaultyStore::find_last_stream(std::uint64_t& stream) {
  const absl::Status fault = read_error();
  return fault.ok() ? store_.find_last_stream(stream) : fault;
}

std::string_view point_name(FaultyStore::Point point) {
  switch (point) {
    case FaultyStore::Point::kBeforeCommit:
      return "before commit";
    case FaultyStore::Point::kAfterCommit:
      return "after commit";
    case FaultyStore::Point::kBeforeSync:
      return "before sync";
    case FaultyStore::Point::kAfterSync:
      return "after sync";
  }
  return "?";
}

std::string_view kept_name(FaultyStore::Kept kept) {
  switch (kept) {
    case FaultyStore::Kept::kNo:
      return "not kept";
    case FaultyStore::Kept::kYes:
      return "kept";
  }
  return "?";
}

}  // namespace rushgate::faults
