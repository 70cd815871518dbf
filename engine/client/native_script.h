// Forwards to <rushgate/script.h>, which new code includes.
#pragma once

#include "engine/base/scalar.h"
#include <rushgate/script.h>
