"""Rounds of applies that are killed at random instants.
KILLS=10: how many are killed; SEED: of the random numbers, which a failure names."""
import os, random, time

from client import check

KILLS, SEED = int(os.environ.get("KILLS", 10)), int(os.environ.get("SEED", time.time_ns() % 1000000))
rng = random.Random(SEED)


def kill_rounds(one, undisturbed_s, overlay, of, held):
    """one(number, mode, seconds) kills one of `of` within so many seconds, and says whether that was in its middle. `held`: the words for all of them.
    The time of an undisturbed one was taken on a machine that may have been busier: where no kill was in the middle, earlier ones follow."""
    hit = number = 0
    while number < KILLS or (not hit and number < 4 * KILLS):
        try:
            hit += one(number, "overlay" if overlay and number % 3 == 0 else "copy", 1.1 * undisturbed_s / (1 + number // KILLS))
        except Exception as e:
            check("kill %d of seed %d" % (number, SEED), False, repr(e))
            return
        number += 1
    check("%d %s that were killed, %d between their first and their last step, %s" % (number, of, hit, held), True)
    check("some were killed in the middle", hit > 0 or KILLS < 10, "none of %d" % number)
