/* One request, one jail: launch, watch, end.
 * It decides nothing about walls (plan/) or verdicts (verdict.c) and leaves nothing behind. */
#include "run/once.h"

#include "base/fd.h"
#include "run/verdict.h"
#include "run/watch.h"
#include "sandbox/launch.h"

void aj_run_once(const struct aj_plan *plan, const struct aj_policy *policy, const struct aj_request *request,
                 aj_output_fn *output, void *output_arg, struct aj_result *ret)
{
	int64_t started_us = aj_now_us();
	struct aj_jail jail;
	*ret = (struct aj_result){ 0 };
	if (request->snippet)
		aj_sha256(request->code, request->code_bytes, ret->code_sha256);
	struct aj_facts facts = { 0 };
	if (aj_launch(plan, &jail, &ret->setup) == 0)
		aj_watch(&jail, plan, policy, request, output, output_arg, started_us, ret, &facts);
	aj_verdict(&facts, plan, ret);
}
