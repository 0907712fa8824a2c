"""The omnibus test of predictive distributions: transforms, statistics of them, and what they say."""
