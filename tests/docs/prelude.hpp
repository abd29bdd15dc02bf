// What the fragments on the pages take as given.
#include <cuenv/cuenv.hpp>
#include <cuenv/diagnose.hpp>

#include <spawn.h>

#include <iostream>
#include <string>
#include <vector>

extern cuenv::Settings settings;
extern cuenv::Session& session;
extern int i;
extern int workers;
extern ::pid_t pid;
extern char const* path;
extern char** arguments;
void use(int);
