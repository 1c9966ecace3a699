/* What sessions that come from one another have in common: their checkpoints. */
#pragma once

struct aj_lineage;
struct aj_checkpoint;
struct aj_session;

/* The session's lifetime is over: a checkpoint that is kept for none other goes. */
void aj_lineage_expire(struct aj_session *session);
/* The session is being closed. */
void aj_lineage_leave(struct aj_session *session);
