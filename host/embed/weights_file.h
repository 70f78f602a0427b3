/* weights_file.h - the weights of a net in a .safetensors file of their own. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_EMBED_WEIGHTS_FILE_H
#define HOST_EMBED_WEIGHTS_FILE_H

#include "graph/net/net.h"

/* As tutti_net_save and tutti_net_load of tutti_host/net.h.  [control] */
TUTTI_NODISCARD tutti_status weights_file_write(const net *n, const char *path,
                                                tutti_error *err);
TUTTI_NODISCARD tutti_status weights_file_read(net *n, const char *path, tutti_error *err);

#endif
