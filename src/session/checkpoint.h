/* A lineage: the checkpoints that a session shares with its forks. */
#pragma once

struct aj_lineage;
struct aj_checkpoint;
struct aj_session;

/* The session's lifetime is over; the last one of a lineage frees the checkpoints. */
void aj_lineage_expire(struct aj_session *session);
/* The session is being closed: take it out of its lineage. */
void aj_lineage_leave(struct aj_session *session);
