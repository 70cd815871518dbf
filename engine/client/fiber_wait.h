// Forwards to <rushgate/fiber_wait.h>, which new code includes.
#pragma once

#include <rushgate/fiber_wait.h>
