"""The plan that most tests want: few steps in single precision, each looked at and logged."""

from headstart.training.config import PlanConfig


def plain_plan(num_steps: int, seed: int = 0, device: str = "cpu") -> PlanConfig:
    """Returns the plan of so many steps."""
    return PlanConfig(
        num_steps=num_steps,
        seed=seed,
        device=device,
        num_threads=1,
        precision="fp32",
        is_compiled=False,
        is_deterministic=False,
        steps_between_validations=1,
        steps_between_logs=1,
    )
