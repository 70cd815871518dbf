// Forwards to <rushgate/clock.h>, which new code includes.
#pragma once

#include <rushgate/clock.h>
