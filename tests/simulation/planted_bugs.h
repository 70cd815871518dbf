// Bugs of a sale of vouchers on several lanes, which the random schedules have to find.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <rushgate/backend.h>
#include <rushgate/order_store.h>

namespace rushgate::testing {

enum class PlantedBug : std::uint8_t {
  kNone,
  kPutTwice,          // pieces that a lane has got are added once more if they are put again
  kOneLaneIsSoldOut,  // a look at the lanes of a voucher finds no piece on any
  kPiecesUnfenced,    // moved pieces are recorded, although their lane was rebuilt meanwhile
  kOrdersUnfenced,    // so are orders
};

std::string_view bug_name(PlantedBug bug);

/// Returns a backend whose clients have `bug`. `inner` must outlive it.
std::unique_ptr<Backend> with_bug(Backend& inner, PlantedBug bug);
/// Returns a database that has `bug`. `inner` must outlive it.
std::unique_ptr<OrderStore> with_bug(OrderStore& inner, PlantedBug bug);

}  // namespace rushgate::testing
