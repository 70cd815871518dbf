#include <cstdio>

#include <rushgate/open_backend.h>
#include <rushgate/queues.h>

int main(int argc, char** argv) {
  using namespace rushgate;
  auto backend = open_backend(argc > 1 ? argv[1] : "memory:").value();  // or a directory, redis://…
  const auto timeouts = DelayedQueue::create(*backend, "order-timeouts").value();
  for (const char* order : {"order 1", "order 2"}) {
    if (!timeouts->push_in(order, /*body=*/"", /*delay_ms=*/50).ok()) return 1;
  }
  const bool is_paid_in_time = timeouts->cancel("order 1").value();
  std::printf("order 1: paid in time: %d\n", is_paid_in_time);

  const auto due = timeouts->take(/*count_max=*/100, /*wait_ms=*/10'000).value();
  for (const QueueMessage& order : due) {
    const bool has_won = timeouts->done({&order, 1}).value() == 1;
    std::printf("%s: timed out: %d\n", order.id.c_str(), has_won);
  }
}
