// Forwards to <rushgate/client.h>, which new code includes.
#pragma once

#include <rushgate/client.h>
