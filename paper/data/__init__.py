"""The public data of the paper: eleven UCI sets, and the earthquake reports."""

from paper.data.earthquake import fetch_earthquake
from paper.data.uci import fetch_uci

__all__ = ["fetch_earthquake", "fetch_uci"]
