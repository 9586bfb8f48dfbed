"""What may be asked of a recipe's anatomy; free of torch."""

from dataclasses import dataclass

from headstart.errors import RecipeError
from headstart.pipeline.recipe import Recipe, Task


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked of a recipe; what is left out is the recipe's own."""

    task: Task | None = None
    num_labels: int | None = None
    is_frozen: bool = False
    length: int | None = None
    kernel: int = 3
    num_tokens: int | None = None

    def task_of(self, recipe: Recipe) -> Task:
        """Returns the task; labels or a frozen trunk mean classification where none is named."""
        means_labels = self.num_labels is not None or self.is_frozen
        if self.task is None and means_labels and recipe.task == "language-model":
            return "classification"
        task = self.task or recipe.task
        if self.num_labels is not None and task != "classification":
            remedy = "choose the task classification"
            if recipe.task == "translation":
                remedy = "choose a recipe with one trunk, such as compact"
            raise RecipeError(
                f"{self.num_labels} labels were asked for, but the task is {task}. "
                f"Leave the labels out, or {remedy}."
            )
        return task
