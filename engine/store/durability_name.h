// Forwards to <rushgate/store.h>, which new code includes.
#pragma once

#include <rushgate/store.h>
