// Forwards to <rushgate/resp_server.h>, which new code includes.
#pragma once

#include <rushgate/resp_server.h>
