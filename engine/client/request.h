// Forwards to <rushgate/request.h>, which new code includes.
#pragma once

#include "engine/base/heap.h"
#include "engine/base/numbers.h"
#include <rushgate/request.h>
