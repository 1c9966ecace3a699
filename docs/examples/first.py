# Code as a model might write it: a class, an import, some output and an answer.
import statistics


class Readings:
    def __init__(self, values):
        self.values = values

    def summary(self):
        return {"mean": statistics.mean(self.values), "spread": statistics.stdev(self.values)}


readings = Readings([19.5, 20.25, 21.0, 20.5])
print("readings:", len(readings.values))
final_answer(readings.summary())
