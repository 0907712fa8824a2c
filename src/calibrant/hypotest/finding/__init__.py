"""What a test found: the kind of error, and the part of the test that revealed it, in words."""
