// Forwards to <rushgate/rocksdb_store.h>, which new code includes.
#pragma once

#include <rushgate/rocksdb_store.h>
