"""Bootstrap samples of rows, and labels redrawn from the predictions."""
