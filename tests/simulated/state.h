#ifndef CUENV_TESTS_SIMULATED_STATE_H
#define CUENV_TESTS_SIMULATED_STATE_H

/* What the simulated driver did and read, for tests to look at. Plain C: also reached through dlsym,
   `cuenv_simulated_state()`. Valid until the next call of that function. */

#ifdef __cplusplus
extern "C" {
#endif

struct CuenvSimulatedState {
  int initialised;   /* cuInit has succeeded */
  int init_calls;    /* calls of cuInit, failed ones too */
  int contexts_made; /* times a primary context came to life */
  int active_primary_contexts;
  int loaded_modules;
  /* read when the context that was made last was made; -1 before */
  int launch_blocking;
  /* read by the cuInit that succeeded */
  int max_connections;
  int eager_loading;
  int disable_jit;
  int force_jit;
  int persisting_l2_percentage; /* -1: not set */
  int cache_disabled;
  unsigned long long cache_max_size;
  char const* cache_path; /* null: not set */
};

#ifdef __cplusplus
}
#endif

#endif /* CUENV_TESTS_SIMULATED_STATE_H */
