#include "engine/redis/keyspace/key_events.h"

namespace rushgate {
namespace {

struct Letter {
  char letter;
  std::uint16_t flag;
};

constexpr std::uint16_t kAll = kGenericEvents | kStringEvents | kListEvents | kSetEvents |
                               kHashEvents | kSortedSetEvents | kExpiredEvents | kEvictedEvents |
                               kStreamEvents | kModuleEvents;

// The classes in the order of CONFIG GET.
constexpr Letter kClasses[] = {
    {'g', kGenericEvents}, {'$', kStringEvents},    {'l', kListEvents},    {'s', kSetEvents},
    {'h', kHashEvents},    {'z', kSortedSetEvents}, {'x', kExpiredEvents}, {'e', kEvictedEvents},
    {'t', kStreamEvents},  {'d', kModuleEvents},    {'n', kNewEvents},
};
constexpr Letter kOthers[] = {{'K', kEventsByKey}, {'E', kEventsByName}, {'m', kMissEvents}};

std::uint16_t flag_of(char letter) {
  if (letter == 'A') return kAll;
  for (const Letter& known : kClasses) {
    if (known.letter == letter) return known.flag;
  }
  for (const Letter& known : kOthers) {
    if (known.letter == letter) return known.flag;
  }
  return 0;
}

}  // namespace

std::optional<std::uint16_t> parse_key_events(std::string_view letters) {
  std::uint16_t flags = 0;
  for (const char letter : letters) {
    const std::uint16_t flag = flag_of(letter);
    if (flag == 0) return std::nullopt;
    flags |= flag;
  }
  return flags;
}

std::string key_event_letters(std::uint16_t flags) {
  std::string letters;
  const auto add = [&](const Letter& letter) {
    if ((flags & letter.flag) != 0) letters += letter.letter;
  };
  if ((flags & kAll) == kAll) {
    letters = "A";
  } else {
    for (const Letter& letter : kClasses) add(letter);
  }
  for (const Letter& letter : kOthers) add(letter);
  return letters;
}

}  // namespace rushgate
