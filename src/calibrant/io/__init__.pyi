from calibrant._border.files import (
    check_writable as check_writable,
    write_atomically as write_atomically,
    write_text as write_text,
)
from calibrant._border.text import printable as printable
from calibrant.io.forecasts import read_forecasts as read_forecasts
from calibrant.io.opening import column_names as column_names, read_column as read_column
from calibrant.io.read import read_predictions as read_predictions, read_raw_logits as read_raw_logits
