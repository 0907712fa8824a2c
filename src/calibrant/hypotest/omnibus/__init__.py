"""The omnibus test: several statistics of the same redraws, one exact p-value, and what revealed an error, in words."""
