"""A local page to play with the method: `fcgboost playground`."""

from fcgboost.playground.server import Playground, serve

__all__ = ["Playground", "serve"]
