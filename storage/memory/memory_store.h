// Forwards to <rushgate/memory_store.h>, which new code includes.
#pragma once

#include "storage/memory/packed_runs.h"
#include <rushgate/memory_store.h>
