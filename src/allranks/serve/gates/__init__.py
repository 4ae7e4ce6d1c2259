"""What the pages of the book must keep to, beyond what the builder checks."""
