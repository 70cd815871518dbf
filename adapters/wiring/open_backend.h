// Forwards to <rushgate/open_backend.h>, which new code includes.
#pragma once

#include <rushgate/open_backend.h>
