#include <cuenv/cuenv.hpp>

#if defined(_WINDOWS_) || defined(_INC_WINDOWS) || defined(ERROR) || defined(near) || defined(far) || \
    defined(small) || defined(interface) || defined(CreateFile) || defined(GetMessage)
#error cuenv has brought windows.h or macros of it
#endif

#include <windows.h>

bool is_set_for_windows(char const* name);
bool is_set_for_windows(char const* name) { return ::GetEnvironmentVariableA(name, nullptr, 0) > 1; }
