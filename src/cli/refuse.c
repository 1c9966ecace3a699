/* Reports a command that ends before anything runs: the error as text, or with --json as a result.
 * It decides nothing, and prints one of the two; the client of an MCP server gets the error, too. */
#include "cli/refuse.h"

#include "cli/mcp.h"
#include "cli/terminal/findings.h"
#include "jail/audit/trail.h"

int aj_refuse(const struct aj_options *o, enum aj_status status, const char *type, const struct aj_error *err)
{
	if (o->mcp)
		aj_mcp_refuse(err);
	if (!o->json)
		return aj_print_error(err);
	/* main() sees a failed write to standard output */
	aj_show_json(aj_result_refused_json(o->request.id ? o->request.id : aj_trail_new_id(o->arena), status, type, err),
	             o->json_to);
	return err->exit_code;
}

int aj_refuse_setup(const struct aj_options *o, const struct aj_error *err)
{
	return aj_refuse(o, AJ_STATUS_SETUP_ERROR, err->exit_code == AJ_EXIT_USAGE ? "UsageError" : "SetupError", err);
}
