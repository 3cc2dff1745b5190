"""The public data of the paper: eleven UCI sets, and the earthquake reports; and Italy's."""

from paper.data.earthquake import fetch_earthquake
from paper.data.italy import fetch_italy
from paper.data.uci import fetch_uci

__all__ = ["fetch_earthquake", "fetch_italy", "fetch_uci"]
