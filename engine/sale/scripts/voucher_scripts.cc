#include "engine/sale/scripts/voucher_scripts.h"

#include "engine/core/base/concat.h"
#include "engine/sale/scripts/held_orders.h"
#include "engine/sale/scripts/lost_append.lua.h"
#include "engine/sale/scripts/pieces_put.lua.h"
#include "engine/sale/scripts/pieces_take.lua.h"
#include "engine/sale/scripts/rebuild_abandon.lua.h"
#include "engine/sale/scripts/rebuild_begin.lua.h"
#include "engine/sale/scripts/rebuild_finish.lua.h"
#include "engine/sale/scripts/rebuild_give_back.lua.h"
#include "engine/sale/scripts/rebuild_load_buyers.lua.h"
#include "engine/sale/scripts/rebuild_load_holds.lua.h"
#include "engine/sale/scripts/rebuild_load_requests.lua.h"
#include "engine/sale/scripts/requests_finish.lua.h"
#include "engine/sale/scripts/requests_restore.lua.h"
#include "engine/sale/scripts/voucher_apply.lua.h"

namespace rushgate::voucher_scripts {

const Script& apply() {
  static const Script* const kScript = new Script(lua::kVoucherApply);
  return *kScript;
}

const Script& begin_rebuild() {
  static const Script* const kScript = new Script(lua::kRebuildBegin);
  return *kScript;
}

const Script& load_buyers() {
  static const Script* const kScript = new Script(lua::kRebuildLoadBuyers);
  return *kScript;
}

const Script& load_requests() {
  static const Script* const kScript = new Script(lua::kRebuildLoadRequests);
  return *kScript;
}

const Script& restore_requests() {
  static const Script* const kScript = new Script(lua::kRequestsRestore);
  return *kScript;
}

const Script& finish_requests() {
  static const Script* const kScript = new Script(lua::kRequestsFinish);
  return *kScript;
}

const Script& load_holds() {
  static const Script* const kScript = new Script(lua::kRebuildLoadHolds);
  return *kScript;
}

const Script& finish_rebuild() {
  static const Script* const kScript = new Script(lua::kRebuildFinish);
  return *kScript;
}

const Script& abandon_rebuild() {
  static const Script* const kScript = new Script(lua::kRebuildAbandon);
  return *kScript;
}

const Script& give_back_rebuild() {
  static const Script* const kScript = new Script(lua::kRebuildGiveBack);
  return *kScript;
}

const Script& append_lost() {
  static const Script* const kScript = new Script(lua::kLostAppend);
  return *kScript;
}

const Script& take_pieces() {
  static const Script* const kScript = new Script(lua::kPiecesTake);
  return *kScript;
}

const Script& put_pieces() {
  static const Script* const kScript = new Script(lua::kPiecesPut);
  return *kScript;
}

}  // namespace rushgate::voucher_scripts
