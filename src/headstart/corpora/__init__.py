"""Where text comes from: readers, splits, named data sets, and the leak guard."""
