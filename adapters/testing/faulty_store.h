// A store that fails on request.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include <rushgate/store.h>

namespace rushgate::faults {

/// Forwards to another store, except for the requested failures. Thread-safe.
class FaultyStore final : public Store {
 public:
  enum class Point : std::uint8_t { kBeforeCommit, kAfterCommit, kBeforeSync, kAfterSync };

  /// Whether a failed commit or sync took effect. The error does not show it.
  enum class Kept : std::uint8_t { kNo, kYes };

  explicit FaultyStore(std::unique_ptr<Store> store);
  /// `store` must outlive this one.
  explicit FaultyStore(Store& store);

  /// Fails the `nth` commit or sync from now on (1 is the next), and no later one. Throws
  /// std::invalid_argument if `nth` is less than 1.
  void fail_commit(int nth, Kept kept, absl::Status error = default_error());
  void fail_sync(int nth, Kept kept, absl::Status error = default_error());
  /// Fails all reads from now on. OK ends it.
  void fail_reads(absl::Status error = default_error());
  void fail_loads(absl::Status error = default_error());

  /// Sets a hook that runs at every point, on the thread that commits or syncs. It may kill the
  /// process. Points after a failed commit or sync are skipped. Set it before other threads use the
  /// store.
  void at_every_point(std::function<void(Point)> hook);

  /// Returns the number of calls so far, with the failed ones.
  [[nodiscard]] int commits() const;
  [[nodiscard]] int syncs() const;

  absl::Status load(
      absl::FunctionRef<void(std::string_view key, std::string_view value)> visit) override;
  absl::Status commit(const StoreBatch& batch) override;
  absl::Status sync() override;
  absl::Status read_stream(std::uint64_t stream, StreamId from, StreamId to, std::size_t bytes_max,
                           std::vector<StreamSegment>& segments) override;
  absl::Status read_stream_back(std::uint64_t stream, StreamId from, StreamId to,
                                std::size_t bytes_max,
                                std::vector<StreamSegment>& segments) override;
  absl::Status find_last_stream(std::uint64_t& stream) override;
  [[nodiscard]] Durability durability() const override { return store_.durability(); }
  [[nodiscard]] bool keeps_state() const override { return store_.keeps_state(); }
  [[nodiscard]] std::size_t memory_bytes() const override { return store_.memory_bytes(); }

  static absl::Status default_error() { return absl::UnavailableError("injected fault"); }

 private:
  struct Fault {
    int at;  // the number of the call
    Kept kept;
    absl::Status error;
  };
  struct Calls {
    int count = 0;
    std::optional<Fault> fault;

    std::optional<Fault> next();
  };

  absl::Status run(Calls& calls, Point before, Point after, absl::FunctionRef<absl::Status()> call);
  absl::Status read_error() const;

  const std::unique_ptr<Store> owned_;
  Store& store_;
  std::function<void(Point)> hook_;

  mutable std::mutex mutex_;  // guards the members below
  Calls commits_;
  Calls syncs_;
  absl::Status read_error_;
  absl::Status load_error_;
};

}  // namespace rushgate::faults
