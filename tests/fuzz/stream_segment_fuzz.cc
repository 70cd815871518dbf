// Segments of streams: each one from the store is refused or parsed. A parsed segment can be
// written again.
#include <optional>
#include <string_view>
#include <vector>

#include "engine/redis/keyspace/stream_segment.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/keyspace/stream_entries.h"

namespace rushgate {
namespace {

std::optional<std::vector<Entry>> read_segment(StreamId first, std::string_view bytes) {
  DecodedSegment segment;
  if (!segment.read(first, bytes)) {
    fuzz::expect(segment.size() == 0, "a refused segment holds nothing");
    return std::nullopt;
  }
  std::vector<Entry> entries = entries_of(segment, bytes);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    fuzz::expect(segment.lower_bound(entries[i].id) == i, "entries are found by their ids");
  }
  return entries;
}

void write_again(const std::vector<Entry>& entries) {
  SegmentWriter writer;
  std::vector<Entry> written;
  for (const Entry& entry : entries) {
    if (!writer.empty() && !writer.takes(entry.id)) break;
    append(writer, entry);
    written.push_back(entry);
  }
  fuzz::expect(read_segment(writer.first(), writer.bytes()) == written, "entries come back");
}

}  // namespace
}  // namespace rushgate

RUSHGATE_FUZZER(stream_segment) {
  rushgate::fuzz::Input input(data, size);
  const std::uint8_t ms = input.byte();
  const std::uint8_t seq = input.byte();
  const auto entries = rushgate::read_segment({ms, seq}, input.rest());
  if (entries && !entries->empty()) rushgate::write_again(*entries);
  return 0;
}
