#include "engine/redis/rdb/dump_stream.h"

#include <cstdint>
#include <utility>

#include "engine/core/base/status_macros.h"
#include "engine/redis/rdb/rdb_writer.h"
#include "engine/redis/rdb/stream_node.h"

namespace rushgate::rdb {
namespace {

/// The nodes of a stream, which come after their number.
struct Nodes {
  std::uint64_t count = 0;
  std::string bytes;
};

void write_node(const StreamNodeWriter& node, Nodes& nodes) {
  constexpr std::uint64_t kIdBytes = 16;
  if (node.empty()) return;
  RdbWriter(nodes.bytes).length(kIdBytes).id(node.first()).string(node.bytes());
  ++nodes.count;
}

absl::Status write_nodes(const StreamLog& log, const EncodingLimits& limits, std::size_t bytes_max,
                         Nodes& nodes) {
  StreamNodeWalk walk(limits, {});
  StreamNodeWriter node;
  bool fits = true;
  absl::Status read = log.read(StreamId::min(), StreamId::max(), [&](const StreamEntry& entry) {
    if (walk.begins_node(entry)) write_node(std::exchange(node, {}), nodes);
    walk.pass(entry);
    node.append(entry);
    fits = nodes.bytes.size() + node.size_bytes() <= bytes_max;
    return fits;
  });
  if (!read.ok()) return read;
  if (!fits) return absl::ResourceExhaustedError("the payload of a stream");
  write_node(node, nodes);
  return absl::OkStatus();
}

void write_group(const StreamGroup& group, RdbWriter& out) {
  out.string(group.name).id_pair(group.last_delivered);
  out.length(static_cast<std::uint64_t>(group.entries_read));
  out.length(group.pending.size());
  for (const auto& [id, pending] : group.pending) {
    out.id(id).time_ms(pending.delivered_ms).length(pending.deliveries);
  }
  out.length(group.consumers.size());
  for (const auto& [name, consumer] : group.consumers) {
    out.string(name).time_ms(consumer->seen_ms).length(consumer->pending.size());
    for (const StreamId id : consumer->pending) out.id(id);
  }
}

}  // namespace

absl::Status write_stream(const Stream& stream, const EncodingLimits& limits, std::size_t bytes_max,
                          std::string& payload) {
  const StreamLog& log = stream.log();
  Nodes nodes;
  RETURN_IF_ERROR(write_nodes(log, limits, bytes_max, nodes));
  RdbWriter out(payload);
  out.length(nodes.count);
  payload.append(std::exchange(nodes.bytes, {}));
  out.length(log.length()).id_pair(log.last_id()).id_pair(log.first_id());
  out.id_pair(log.max_deleted_id()).length(log.entries_added());
  out.length(stream.groups().size());
  for (const auto& [name, group] : stream.groups()) write_group(*group, out);
  return absl::OkStatus();
}

}  // namespace rushgate::rdb
