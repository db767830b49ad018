"""What is measured, a file each. Each prints its tables and returns its goals."""
