"""The head that a warm transfer begins with, fitted to its examples before anything learns."""

import torch
from torch import Tensor

from headstart.pipeline.label_learner import LabelLearner, text_vectors_by
from headstart.pipeline.learner import never
from headstart.transfers.head_fit import JudgedVectors, fit_head


def fitted_head(learner: LabelLearner) -> dict[str, Tensor]:
    """Returns a head fitted to the labels and the trunk as it is, by the names of a model."""
    model, _ = learner.new_model()
    model.to(learner.plan.device).eval()
    # Texts that teachers answered for come last, and have no labels of their own.
    labelled = learner.train.rows[: len(learner.train.targets)]
    train, valid = (
        JudgedVectors(
            vector_ND=text_vectors_by(learner.plan, model, rows, never),
            target_N=torch.from_numpy(targets),
        )
        for rows, targets in (
            (labelled, learner.train.targets),
            (learner.valid.rows, learner.valid.targets),
        )
    )
    head = fit_head(train, valid, len(learner.transfer.labels), learner.label_weights)
    return {
        "head.output.weight": head.weight_CD.float(),
        "head.output.bias": head.bias_C.float(),
    }
