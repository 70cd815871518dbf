// A program that wants only a lock, on a Redis server: locks_on_redis <url>. Exits with 0 if it gets
// the lock.
#include <rushgate/locks.h>
#include <rushgate/redis_backend.h>

int main(int argc, char** argv) {
  using namespace rushgate;
  if (argc != 2) return 2;
  auto redis = RedisBackend::open(RedisOptions::from_url(argv[1]).value()).value();
  LockManager manager(*redis);
  ReentrantLock lock(manager, "stock");
  return lock.acquire().ok() && lock.release().ok() ? 0 : 1;
}
