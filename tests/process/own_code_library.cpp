#include "embedded_code.hpp"

#ifdef _WIN32
extern "C" __declspec(dllexport) int something();
#else
extern "C" int something();
#endif
int something() { return 1; }
