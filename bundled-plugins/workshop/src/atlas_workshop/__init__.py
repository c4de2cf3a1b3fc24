"""Make and test plugins: terminal commands alone, so nothing of it is loaded while Atlas runs."""
