// Runs of streams: whatever the store gives back is refused or read; what is read can be written
// again.
#include <optional>
#include <string>
#include <vector>

#include "engine/keyspace/stream_run.h"
#include "tests/fuzz/fuzz.h"

namespace rushgate {
namespace {

struct Entry {
  StreamId id;
  std::vector<std::pair<std::string, std::string>> fields;
  friend bool operator==(const Entry&, const Entry&) = default;
};

std::optional<std::vector<Entry>> entries_of(StreamId first, std::string_view bytes) {
  DecodedRun run;
  if (!run.read(first, bytes)) {
    fuzz::expect(run.size() == 0, "a refused run holds nothing");
    return std::nullopt;
  }
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < run.size(); ++i) {
    const StreamEntry entry = run.entry(i, bytes);
    Entry& copy = entries.emplace_back(Entry{entry.id(), {}});
    for (std::size_t field = 0; field < entry.size(); ++field) {
      copy.fields.emplace_back(entry.name(field), entry.value(field));
    }
    fuzz::expect(run.lower_bound(entry.id()) == i, "entries are found by their ids");
  }
  return entries;
}

void write_again(const std::vector<Entry>& entries) {
  RunWriter writer;
  std::vector<Entry> written;
  for (const Entry& entry : entries) {
    if (!writer.empty() && !writer.takes(entry.id)) break;
    std::vector<StreamField> fields;
    for (const auto& [name, value] : entry.fields) fields.emplace_back(name, Scalar(value));
    writer.append(entry.id, fields);
    written.push_back(entry);
  }
  fuzz::expect(entries_of(writer.first(), writer.bytes()) == written, "entries come back");
}

}  // namespace
}  // namespace rushgate

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rushgate::fuzz::Input input(data, size);
  const std::uint8_t ms = input.byte();
  const std::uint8_t seq = input.byte();
  const auto entries = rushgate::entries_of({ms, seq}, input.rest());
  if (entries && !entries->empty()) rushgate::write_again(*entries);
  return 0;
}
