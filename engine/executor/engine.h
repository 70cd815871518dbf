// Forwards to <rushgate/engine.h>, which new code includes.
#pragma once

#include "engine/base/version.h"
#include "engine/commands/settings.h"
#include <rushgate/engine.h>
