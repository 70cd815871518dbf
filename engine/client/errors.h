// Forwards to <rushgate/reply.h>, which new code includes.
#pragma once

#include <rushgate/reply.h>
