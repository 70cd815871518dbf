// Forwards to <rushgate/backend.h>, which new code includes.
#pragma once

#include <rushgate/backend.h>
