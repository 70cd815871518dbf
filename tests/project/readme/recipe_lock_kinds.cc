#include <cstdio>
#include <mutex>
#include <shared_mutex>

#include <rushgate/locks.h>
#include <rushgate/open_backend.h>

int main(int argc, char** argv) {
  using namespace rushgate;
  auto backend = open_backend(argc > 1 ? argv[1] : "memory:").value();  // or a directory, redis://…
  LockManager manager(*backend);

  SimpleLock report(*backend, "daily-report", {.lease_ms = 60'000});
  if (const std::unique_lock held(report, std::try_to_lock); held.owns_lock()) {
    SimpleLock other(*backend, "daily-report");
    std::printf("simple: ours, another process: %d\n", other.try_lock());
  }

  FairLock payout(manager, "payout");
  {
    const std::lock_guard held(payout);  // after all that asked before
    std::printf("fair: held %d\n", payout.is_held());
  }

  ReadWriteLock prices(manager, "prices");
  std::unique_lock writing(prices);
  const std::shared_lock reading(prices);  // the writer may read,
  writing.unlock();                        // and goes on as one of the readers
  std::printf("read-write: writes %d, reads %d\n", prices.write_lock().is_held(),
              prices.read_lock().is_held());

  MultiLock transfer({ReentrantLock(manager, "account:1"), ReentrantLock(manager, "account:2")});
  const bool is_ours = transfer.try_acquire(/*wait_ms=*/500).value();  // both or none
  std::printf("multi: %d\n", is_ours);
  return transfer.release().ok() ? 0 : 1;
}
