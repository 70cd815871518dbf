// Prints docs/commands.md: ./dev document-commands.
#include <cstdio>

#include "tests/project/readme/commands_page.h"

int main() { std::fputs(rushgate::commands_page().c_str(), stdout); }
