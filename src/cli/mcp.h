/* `agentjail run --mcp`: a jailed MCP server, whose client reads JSON-RPC from its output and rarely shows standard error. */
#pragma once
#include "base/error.h"

/* The server was not started: answer the request that each MCP connection begins with by a JSON-RPC error that
 * holds `err` and its fix. Without effect where standard input is a terminal, or brings no request within a few seconds. */
void aj_mcp_refuse(const struct aj_error *err);
