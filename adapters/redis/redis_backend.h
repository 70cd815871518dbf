// Forwards to <rushgate/redis_backend.h>, which new code includes.
#pragma once

#include <rushgate/redis_backend.h>
