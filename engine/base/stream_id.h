// Forwards to <rushgate/stream_id.h>, which new code includes.
#pragma once

#include <rushgate/stream_id.h>
