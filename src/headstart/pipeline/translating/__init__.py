"""Behind the verbs that translate: pairs and their rows, what learns from them, and its jobs."""
