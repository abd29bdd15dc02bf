#ifndef CUENV_VERSION_HPP
#define CUENV_VERSION_HPP

/// The version of cuenv: the one place where it is written; the build reads it from here.
#define CUENV_VERSION_MAJOR 0
#define CUENV_VERSION_MINOR 1
#define CUENV_VERSION_PATCH 0

// Programs that were built with different minor versions (major versions from 1.0 on) can be linked together:
// their symbols differ. A patch release never changes the namespace.
#define CUENV_NAMESPACE_BEGIN \
  namespace cuenv {           \
  inline namespace v0_1 {
#define CUENV_NAMESPACE_END \
  }                         \
  }

#endif  // CUENV_VERSION_HPP
