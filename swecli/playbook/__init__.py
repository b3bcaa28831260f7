"""What was learned: strategies, their selection and their changes."""
