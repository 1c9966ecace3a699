"""Terminals with programs on them, as tmux shows them: screens of a program in a jail and of the same program outside can be compared.
It knows no program, and no jail."""

import os
import subprocess
import time

PATIENCE_S = 30


class Screen:
    """One tmux server with one window, whose program has this environment and tmux's variables."""

    def __init__(self, folder, name, argv, env, size=(80, 24)):
        self.socket = os.path.join(folder, name)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), *argv, env=env)

    def tmux(self, *argv, env=None):
        done = subprocess.run(["tmux", "-u", "-S", self.socket, *argv], capture_output=True, text=True, env=env, timeout=PATIENCE_S)
        return done.stdout if done.returncode == 0 else done.stderr

    def act(self, step):
        """Keys as tmux names them, text, or a size."""
        if isinstance(step, tuple):
            self.tmux("resize-window", "-x", str(step[0]), "-y", str(step[1]))
        else:
            self.tmux("send-keys", *(["-l", step] if len(step) > 7 or " " in step else [step]))

    def shown(self):
        """The cells with their colours, the cursor's place, and whether the screen is the alternate one."""
        return self.tmux("capture-pane", "-p", "-e"), self.tmux("display-message", "-p", "#{cursor_x},#{cursor_y} #{alternate_on} #{mouse_any_flag} #{keypad_cursor_flag}")

    def end(self):
        self.tmux("kill-server")


def settle(inside, outside, normal=lambda shown: shown, ready=lambda shown: shown[0].strip(), patience_s=PATIENCE_S):
    """Both as they are once they are equal, ready and stay so; or as they are in the end."""
    end = time.monotonic() + patience_s
    before = None
    while time.monotonic() < end:
        now = normal(inside.shown()), normal(outside.shown())
        if now == before and now[0] == now[1] and ready(now[0]):
            break
        before = now
        time.sleep(0.03)
    return now
