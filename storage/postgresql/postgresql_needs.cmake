rushgate_needs_module(LIBPQ libpq 14 99)  # its pipelines
