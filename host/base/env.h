/* env.h - the environment variables that loading plugins and device code listens to, in one table. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_BASE_ENV_H
#define HOST_BASE_ENV_H

/* name, variable, what it does */
#define ENV_VARIABLES(X)                                                                       \
    X(ADD_PATH, "TUTTI_ADD_PLUGIN_PATH", "folders searched before all but --plugin-path")      \
    X(PATH, "TUTTI_PLUGIN_PATH", "folders searched instead of the standard ones")              \
    X(SELECT, "TUTTI_SELECT", "globs on plugin ids: only these are used")                      \
    X(DISABLE, "TUTTI_DISABLE", "globs on plugin ids: these are not used")                     \
    X(CONFIG_PATH, "TUTTI_CONFIG_PATH",                                                        \
      "folders with policy.json and trusted.d instead of /etc/tutti and the user's")           \
    X(CUDA_CODE, "TUTTI_CUDA_CODE",                                                            \
      "the folder of operations' device code, instead of lib/tutti/cuda beside the program")   \
    X(CONFIG_HOME, "XDG_CONFIG_HOME", "where the user's own tutti/policy.json is")             \
    X(DATA_HOME, "XDG_DATA_HOME", "where the user's own plugins are")                          \
    X(HOME, "HOME", "the same, when XDG_DATA_HOME is not set")

enum {
#define ENV_X(name, variable, text) ENV_##name,
    ENV_VARIABLES(ENV_X)
#undef ENV_X
};

/* The variable's text, or NULL when it is unset or empty.  A set-uid program ignores all of them:
 * *ret_ignored is then the name of one that is set, else NULL. */
const char *env_get(int variable, const char **ret_ignored);

#endif
