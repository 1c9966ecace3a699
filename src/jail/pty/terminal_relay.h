/* Relays a jail's own terminal to the caller's: keys go in, output comes out through the filter of escape sequences, and the size
 * follows. The jail has one side of a pseudoterminal of its own devpts, and no descriptor of the caller's terminal. */
#pragma once
#include "base/buffer.h"
#include "base/loop/loop.h"
#include "jail/pty/caller_terminal.h"
#include "jail/pty/escape_filter.h"

enum { AJ_PTY_READ = 16 << 10, AJ_PTY_KEYS = 4 << 10 };

struct aj_pty {
	struct aj_loop *loop;
	struct aj_caller_terminal caller;
	int master;    /* -1: the jail's terminal is not there yet, or not any more */
	bool wanted;   /* the jail reads its terminal: keys are for it whenever we are in the foreground */
	bool attached; /* they are now */
	bool typed;    /* since it was attached */
	bool paused;   /* the caller's terminal is in other use: nothing is relayed */
	bool hung_up;  /* the caller's terminal is gone */
	bool returned; /* a carriage return was read, and kept: see strip_returns() */
	struct aj_io jail, keys, screen;
	struct aj_timer foreground; /* polls for the foreground while we are in the background */
	struct aj_escape_filter filter;
	struct aj_buffer out; /* filtered, not written yet */
	size_t at, bytes;     /* of `typed_keys`, not written yet */
	char typed_keys[AJ_PTY_KEYS];
	void (*on_output)(void *arg, const char *data, size_t bytes); /* as the jail wrote it, before the filter */
	void (*on_hang_up)(void *arg);
	void (*on_flushed)(void *arg); /* see aj_pty_pause() */
	void *arg;
};

/* Before the jail starts. `number`: our descriptor of the caller's terminal. -1 with errno. */
int aj_pty_open(struct aj_pty *pty, struct aj_loop *loop, int number, bool whole, enum aj_escapes level);
/* The jail's terminal exists: give it the modes and size of the caller's. `master` is taken. -1 with errno: it is no terminal. */
int aj_pty_start(struct aj_pty *pty, int master);
/* The jail reads its terminal from now on. */
void aj_pty_want(struct aj_pty *pty);
/* We have been continued, or the foreground or the size of the caller's terminal may have changed. */
void aj_pty_refresh(struct aj_pty *pty);
/* Give the caller's terminal back, stop ourselves until we are continued, and take it again. `group`: the whole job. Returns the
 * time that we were stopped, which is next to nothing where no shell could continue us. */
int64_t aj_pty_suspend(struct aj_pty *pty, bool group);
/* While the relay is paused, the jail's output and keys wait, and the caller's terminal has the modes from before the run, for a
 * question of ours on empty lines. The question may follow once the relay is flushed; on_flushed is called if that is later. */
void aj_pty_pause(struct aj_pty *pty, bool paused);
/* Has the caller's terminal taken everything? While the relay is paused, nothing follows. */
bool aj_pty_is_flushed(const struct aj_pty *pty);
/* Every process of the jail has ended: read their last output. */
void aj_pty_drain(struct aj_pty *pty);
/* Write the rest of the output, waiting for the terminal, and restore it. overdue: a limit ended the run; if the terminal does
 * not read for some seconds, drop the rest and print how much. */
void aj_pty_close(struct aj_pty *pty, bool overdue);
