#include "commands.hpp"
int tool::verify(VerifyOptions const&) { return fine; }
