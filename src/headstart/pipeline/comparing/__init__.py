"""Behind `compare.py`: its jobs and who does them, and what their answers come to."""
