"""What a network has to beat: the table of baselines."""

from collections.abc import Mapping

from headstart.evaluation.baselines import majority, tfidf
from headstart.evaluation.baselines.baseline import Fit

BASELINES: Mapping[str, Fit] = {"tfidf": tfidf.fit, "majority": majority.fit}
