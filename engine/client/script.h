// Forwards to <rushgate/script.h>, which new code includes.
#pragma once

#include <rushgate/script.h>
