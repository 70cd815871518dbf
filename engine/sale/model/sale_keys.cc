#include <array>
#include <cassert>
#include <cstddef>

#include <rushgate/sale_keys.h>

namespace rushgate {
namespace {

/// The ends of the hash tags, chosen for their slots: with six binary digits, the number of a lane read
/// backwards is the number of the 64th of the slots that its tag is in. So the first n lanes are spread
/// evenly for each power of 2, and stay where they are when there are more.
constexpr std::array<std::string_view, kLanesMax> kTagEnds = {
    "rp", "ny", "ga", "dt", "aa", "bt", "tp", "hy", "xe", "dl", "rc", "ak", "aa", "ri", "qo", "mf",
    "ql", "me", "xg", "dn", "px", "lq", "zu", "va", "oe", "cq", "uu", "ya", "zm", "fd", "ow", "cc",
    "nb", "ch", "oo", "sf", "lp", "py", "zg", "fn", "xv", "tb", "mg", "nr", "kg", "hr", "aj", "rb",
    "bo", "az", "gh", "jb", "tj", "hc", "ke", "wl", "dv", "gc", "ra", "nh", "eb", "fw", "ps", "lz"};

}  // namespace

SaleKeys SaleKeys::of_lane(int lane) const {
  assert(lane >= 0 && lane < kLanesMax);
  std::string tag = lane < 10 ? "{rg:0" : "{rg:";
  tag += std::to_string(lane);
  tag += kTagEnds[static_cast<std::size_t>(lane)];
  tag += '}';
  return {.prefix = tag + prefix,
          .id_prefix = tag + id_prefix,
          .order_stream = tag + order_stream,
          .group = group};
}

}  // namespace rushgate
