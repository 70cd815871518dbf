// Measures commits, reading a backlog, trimming and reopening, in admissions: a buyer's record, the
// stock's record and a stream entry each.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <rushgate/rocksdb_store.h>

namespace rushgate {
namespace {

constexpr std::size_t kEntryBytes = 60;
constexpr std::uint64_t kStream = 1;

class Directory {
 public:
  Directory() : path_((std::filesystem::temp_directory_path() / "rushgate-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() { std::filesystem::remove_all(path_); }

  [[nodiscard]] std::unique_ptr<RocksDbStore> open(Durability durability) const {
    auto store = RocksDbStore::open(path_, {.durability = durability});
    if (!store.ok()) std::abort();
    return *std::move(store);
  }

 private:
  std::string path_;
};

class Admissions {
 public:
  explicit Admissions(Store& store) : store_(store) {}

  // Makes one commit.
  void commit(std::uint64_t count) {
    batch_.clear();
    for (std::uint64_t i = 0; i < count; ++i) {
      batch_.put("s7:buyers:" + std::to_string(random_() % 100'000'000), "");
    }
    batch_.put("k7:stock", std::to_string(++group_));
    batch_.append_segment(kStream, {group_, 0}, std::string(count * kEntryBytes, 'e'));
    check(store_.commit(batch_));
  }

  void trim(std::uint64_t kept_groups) {
    if (group_ < kept_groups) return;
    batch_.clear();
    batch_.trim_stream(kStream, {group_ - kept_groups, 0});
    check(store_.commit(batch_));
  }

  static void check(const absl::Status& status) {
    if (!status.ok()) std::abort();
  }

 private:
  Store& store_;
  StoreBatch batch_;
  std::mt19937_64 random_{7};
  std::uint64_t group_ = 0;
};

void commit_groups(benchmark::State& state, Durability durability) {
  const Directory directory;
  const auto store = directory.open(durability);
  Admissions admissions(*store);
  const auto group = static_cast<std::uint64_t>(state.range(0));
  for (auto _ : state) admissions.commit(group);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK_CAPTURE(commit_groups, os, Durability::kOs)->Arg(1)->Arg(128)->Arg(1024)->UseRealTime();
BENCHMARK_CAPTURE(commit_groups, sync, Durability::kSync)
    ->Arg(1)
    ->Arg(128)
    ->Arg(1024)
    ->UseRealTime();

// Measures a worker that keeps up: every commit is trimmed soon after.
void commit_and_trim(benchmark::State& state) {
  const Directory directory;
  const auto store = directory.open(Durability::kOs);
  Admissions admissions(*store);
  const auto groups_between = static_cast<std::uint64_t>(state.range(0));
  std::uint64_t groups = 0;
  for (auto _ : state) {
    admissions.commit(1);
    if (++groups % groups_between == 0) admissions.trim(100);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(commit_and_trim)->Arg(1)->Arg(100)->Arg(3000)->UseRealTime();

// Measures reading a backlog from front to back.
void read_backlog(benchmark::State& state) {
  const Directory directory;
  const auto store = directory.open(Durability::kOs);
  Admissions admissions(*store);
  constexpr std::uint64_t kGroups = 1'000'000;
  for (std::uint64_t group = 0; group < kGroups; ++group) admissions.commit(1);
  std::vector<StreamSegment> segments;
  StreamId next = StreamId::min();
  std::int64_t read = 0;
  for (auto _ : state) {
    segments.clear();
    Admissions::check(store->read_stream(kStream, next, StreamId::max(),
                                         static_cast<std::size_t>(state.range(0)), segments));
    read += static_cast<std::int64_t>(segments.size());
    next = segments.back().first.ms == kGroups ? StreamId::min() : *segments.back().first.next();
  }
  state.SetItemsProcessed(read);
}
BENCHMARK(read_backlog)->Arg(4'000)->Arg(64'000)->UseRealTime();

// Measures opening and loading after so many admissions in batches of 16.
void reopen(benchmark::State& state) {
  const Directory directory;
  {
    const auto store = directory.open(Durability::kOs);
    Admissions admissions(*store);
    for (std::int64_t count = 0; count < state.range(0); count += 16) admissions.commit(16);
  }
  std::int64_t records = 0;
  for (auto _ : state) {
    const auto store = directory.open(Durability::kOs);
    Admissions::check(store->load([&](std::string_view, std::string_view) { ++records; }));
  }
  state.SetItemsProcessed(records);
}
BENCHMARK(reopen)->Arg(1'000)->Arg(300'000)->Arg(3'000'000)->Iterations(1)->Unit(
    benchmark::kMillisecond);

}  // namespace
}  // namespace rushgate
