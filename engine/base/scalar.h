// Forwards to the public header, which new code includes.
#pragma once

#include "engine/base/numbers.h"
#include <rushgate/maybe_integer.h>
