#include <array>
#include <cassert>
#include <cstddef>

#include "engine/core/client/key_slot.h"
#include <rushgate/sale_keys.h>

namespace rushgate {
namespace {

constexpr std::string_view kTagBegin = "{rg:";

/// The ends of the hash tags, chosen for their slots: with six binary digits, the number of a lane read
/// backwards is the number of the 64th of the slots that its tag is in. So the first n lanes are spread
/// evenly for each power of 2, and stay where they are when there are more.
constexpr std::array<std::string_view, kLanesMax> kTagEnds = {
    "rp", "ny", "ga", "dt", "aa", "bt", "tp", "hy", "xe", "dl", "rc", "ak", "aa", "ri", "qo", "mf",
    "ql", "me", "xg", "dn", "px", "lq", "zu", "va", "oe", "cq", "uu", "ya", "zm", "fd", "ow", "cc",
    "nb", "ch", "oo", "sf", "lp", "py", "zg", "fn", "xv", "tb", "mg", "nr", "kg", "hr", "aj", "rb",
    "bo", "az", "gh", "jb", "tj", "hc", "ke", "wl", "dv", "gc", "ra", "nh", "eb", "fw", "ps", "lz"};

std::string tag_of(int lane) {
  std::string tag(kTagBegin);
  if (lane < 10) tag += '0';
  tag += std::to_string(lane);
  tag += kTagEnds[static_cast<std::size_t>(lane)];
  tag += '}';
  return tag;
}

/// Returns the tag of a lane at the beginning of a name; empty if there is none.
std::string lane_tag_of(std::string_view name) {
  if (!name.starts_with(kTagBegin)) return {};
  for (int lane = 0; lane < kLanesMax; ++lane) {
    if (std::string tag = tag_of(lane); name.starts_with(tag)) return tag;
  }
  return {};  // it is the user's
}

/// Replaces the tag of a lane at the beginning of a name, or puts one there.
std::string with_tag(const std::string& tag, std::string_view name) {
  name.remove_prefix(lane_tag_of(name).size());
  return tag + std::string(name);
}

}  // namespace

SaleKeys SaleKeys::of_lane(int lane) const {
  assert(lane >= 0 && lane < kLanesMax);
  const std::string tag = tag_of(lane);
  return {.prefix = with_tag(tag, prefix),
          .id_prefix = with_tag(tag, id_prefix),
          .order_stream = with_tag(tag, order_stream),
          .group = group};
}

bool SaleKeys::have_common_tag() const {
  // Keys without a tag are in about as many slots as there are keys.
  const int slot = key_slot(vouchers());
  return slot == key_slot(lost_requests()) && slot == key_slot(order_stream) &&
         slot == key_slot(stream_owner()) && slot == key_slot(id_prefix);
}

SaleKeys SaleKeys::on_cluster() const { return have_common_tag() ? *this : of_lane(0); }

}  // namespace rushgate
