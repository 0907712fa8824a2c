"""The omnibus test of predictive distributions: transforms, statistics of them, and the findings in words."""
